// Imports a profile by speedscope's own code, without its page: node read_by_speedscope.js BUNDLE PROFILE. Prints, as JSON,
// the total and the names of functions of its first profile. speedscope's package has its importers in the page's bundle alone.
const fs = require("fs");
const [bundle, profile] = process.argv.slice(2);
const text = fs.readFileSync(bundle, "utf8");
const importer = /loadFileFromBase64:\(\w+,\w+\)=>\{this\.loadProfile\(\(\)=>([\w$]+)\(/.exec(text);
const end = text.lastIndexOf("console.log(`speedscope v"); // behind it the page is drawn
if (importer === null || end < 0) {
  console.error("the bundle is not as this knows it");
  process.exit(77);
}
const anything = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => 0 : key === Symbol.iterator ? undefined : key === "length" ? 0 : anything),
  apply: () => anything,
  construct: () => anything,
  set: () => true,
});
Object.assign(globalThis, {
  window: globalThis, document: anything, localStorage: anything, location: { href: "http://x/", hash: "", protocol: "http:", search: "" },
  addEventListener() {}, removeEventListener() {}, matchMedia: () => anything, requestAnimationFrame: () => 0,
  devicePixelRatio: 1, HTMLElement: class {}, Image: class {},
});
(0, eval)(`${text.slice(0, end)}globalThis.importBase64=${importer[1]};})();`);
globalThis.importBase64(profile, fs.readFileSync(profile).toString("base64")).then((group) => {
  const [first] = group.profiles;
  const functions = [];
  first.forEachFrame((frame) => functions.push(frame.name));
  fs.writeSync(1, `\n${JSON.stringify({ total: first.getTotalWeight(), functions })}\n`);
  process.exit(0);
});
