// Opens a file with Netron's own model service, as its page in a browser does, and prints what it understood.
// Usage: node netron_open.mjs FOLDER_OF_NETRON FILE
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, name)));
const view = await load("view.js");
const base = await load("base.js");

const fetchFile = async (name, encoding) => {
    const data = readFileSync(join(folder, name));
    return encoding ? data.toString(encoding) : new base.BinaryStream(new Uint8Array(data));
};
const host = {
    environment: () => null,
    require: (id) => load(`${id}.js`),
    asset: (name) => fetchFile(name, "utf-8"),
    request: fetchFile,
    fetch: fetchFile,
    event: () => {},
    exception: (error) => { throw error; },
    error: (error) => { throw error; },
};
const context = { ...host, identifier: basename(file), stream: new base.BinaryStream(new Uint8Array(readFileSync(file))) };
const model = await new view.ModelFactoryService(host).open(context);
const [graph] = model.modules;
// Netron draws a constant that one node reads as an argument of that node.
const nodes = graph.nodes.map((node) => ({ name: node.name, op: node.type.name, inputs: node.inputs.map((i) => i.name) }));
console.log(JSON.stringify({ format: model.format, nodes }));
