export function App() {
  return <main>gradbag studio</main>;
}
