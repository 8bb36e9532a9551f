export function Facts({ facts }: { facts: readonly (readonly [name: string, text: string | number])[] }) {
  return (
    <dl className="inspector-facts">
      {facts.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
