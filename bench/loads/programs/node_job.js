// An allocation-heavy job in node: buffers, compression, JSON, and workers that exchange memory. Ends with an error if a
// result is wrong.
//
//     node bench/loads/programs/node_job.js [SCALE]
//
// V8 maps its own heap; malloc serves what lies outside of it: the contents of buffers, zlib's windows, the compiler's
// zones, and libuv's requests of several threads. So buffers are what most of this is about. What it does depends on
// nothing but SCALE. The milliseconds of each part go to the file $SNUG_FIGURES, if that is set.
"use strict";
const assert = require("node:assert");
const crypto = require("node:crypto");
const fs = require("node:fs");
const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");
const zlib = require("node:zlib");

function randomFrom(seed) {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % bound;
  };
}

// Replaces buffers of many sizes at random. Buffers below 4 KiB would be cut from a pool of node's own.
function buffers(scale, seed) {
  const random = randomFrom(seed);
  const held = [];
  let made = 0;
  for (let i = 0; i < 30000 * scale; i++) {
    const size = 16 << random(12);
    const buffer = Buffer.allocUnsafeSlow(size + random(size));
    buffer[0] = i & 255;
    buffer[buffer.length - 1] = i & 255;
    const slot = random(4000);
    if (held[slot]) assert.strictEqual(held[slot][0], held[slot][held[slot].length - 1], "a buffer was damaged");
    held[slot] = buffer;
    made += 1;
  }
  return made;
}

function documents(scale) {
  const random = randomFrom(2);
  let total = 0;
  for (let i = 0; i < 6000 * scale; i++) {
    const document = { id: i, tags: [], points: [] };
    for (let t = random(12); t > 0; t--) document.tags.push("tag" + random(500));
    for (let p = random(8); p > 0; p--) document.points.push({ x: random(1000) / 7, y: random(1000) / 3 });
    const bytes = Buffer.from(JSON.stringify(document));
    const back = JSON.parse(bytes.toString());
    assert.strictEqual(back.tags.length, document.tags.length, "a document was damaged");
    total += bytes.length;
  }
  return total;
}

function compression(scale) {
  const random = randomFrom(3);
  for (let i = 0; i < 40 * scale; i++) {
    const text = Buffer.alloc(20000 + random(100000), "some words that repeat, number " + i);
    const packed = zlib.deflateSync(text);
    assert.ok(packed.length < text.length);
    assert.ok(zlib.inflateSync(packed).equals(text), "compressed text was damaged");
    crypto.createHash("sha256").update(text).digest();
  }
}

function worker(scale, seed) {
  return new Promise((resolve, reject) => {
    const thread = new Worker(__filename, { workerData: { scale, seed } });
    thread.on("message", resolve);
    thread.on("error", reject);
  });
}

async function workers(scale) {
  const results = await Promise.all([worker(scale, 5), worker(scale, 6)]);
  for (const { made, block } of results) {
    assert.strictEqual(made, 15000 * scale);
    assert.ok(new Uint8Array(block).every((byte) => byte === 7), "memory handed over was damaged");
  }
}

async function main() {
  const scale = Number(process.argv[2] || "11");
  const figures = {};
  for (const part of [buffers, documents, compression, workers]) {
    const start = process.hrtime.bigint();
    await part(scale, 1);
    const ms = Number(process.hrtime.bigint() - start) / 1e6;
    console.log(part.name.padEnd(12), ms.toFixed(1).padStart(8), "ms");
    figures[part.name] = { value: ms, unit: "ms", better: "lower" };
  }
  if (process.env.SNUG_FIGURES) fs.writeFileSync(process.env.SNUG_FIGURES, JSON.stringify(figures) + "\n");
}

if (isMainThread) {
  main().catch((error) => {
    console.error(`node_job.js: ${error.message}`);
    process.exit(1);
  });
} else {
  const block = new ArrayBuffer(1 << 20);
  new Uint8Array(block).fill(7);
  parentPort.postMessage({ made: buffers(workerData.scale / 2, workerData.seed), block }, [block]);
}
