"""run_node.py: node works on JSON, Maps, regexes, buffers and a worker thread."""

from service import Trial, libraries_from_arguments, need

JOB = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib');
let state = 12345;
const next = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
function job(rounds) {
  const map = new Map();
  for (let i = 0; i < rounds; ++i) {
    const key = 'k' + next(5000);
    map.set(key, (map.get(key) || []).concat([{ i, text: 'x'.repeat(next(50)) }]).slice(-8));
  }
  const text = JSON.stringify([...map.entries()].sort());
  const back = JSON.parse(text);
  const found = (text.match(/x{7,9}"/g) || []).length;
  const packed = zlib.deflateSync(Buffer.from(text));
  const buffers = [];
  for (let i = 0; i < 4000; ++i) { buffers[next(500)] = Buffer.alloc(next(20000), i & 255); }
  const hash = crypto.createHash('sha256').update(text);
  for (const buffer of buffers) if (buffer) hash.update(buffer);
  for (let i = 0; i < 20000; ++i) crypto.createHash('sha1').update(String(i)).digest('hex');
  return [back.length, found, packed.length, hash.digest('hex')].join(' ');
}
if (isMainThread) {
  console.log(job(60000));
  new Worker(__filename).on('message', (line) => console.log('worker', line));
} else parentPort.postMessage(job(20000));
"""


def main() -> None:
    trial = Trial(libraries_from_arguments())
    node = need("node")
    output = {}
    for allocator in trial.all:
        (allocator.folder / "job.js").write_text(JOB)
        output[allocator.name] = allocator.run(node, "job.js")
    trial.expect_equal("output", output)
    # The optimising compiler's threads allocate as the clock has it.
    trial.expect_service(("node",), steady=False)
    trial.close()


main()
