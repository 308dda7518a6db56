// A contestant, as the crate `protocol` beside this folder says it for Rust: the works are the same for all, and a peer is an object
// with what its library does for them.

import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const JOBS_AN_EVENT = 5;
export const PUBLISHERS = 8;

/** About 200 bytes of JSON, of which the number tells the jobs apart. */
export function payload(number) {
  return {
    number,
    order: `order-${String(number).padStart(38, "0")}`,
    customer: `customer-${String(number % 1000).padStart(35, "0")}`,
    address: "12 Long Meadow Lane, Upper Littleton, LT4 7QX",
    cents: 1999,
  };
}

export function payloads(from, to) {
  return Array.from({ length: to - from }, (_, index) => payload(from + index));
}

/** Calls `each(from, to)` for consecutive pieces of a range. */
export async function inChunks(from, to, size, each) {
  for (let start = from; start < to; start += size) {
    await each(start, Math.min(start + size, to));
  }
}

/** Version of a package, as it is installed. */
export function version(name) {
  const require = createRequire(import.meta.url);
  return `${name} ${require(`./node_modules/${name}/package.json`).version}, node ${process.versions.node}`;
}

let started = () => {};

/** To be called by the handler of a job, first thing. */
export function handled(number) {
  started(number);
}

/** The main of a contestant: `contest NAME WORK --key value ..`. */
export async function run(peer) {
  try {
    const [face, , name, ...settings] = process.argv.slice(2);
    const work = works[name];
    if (face !== "contest" || !work) throw new Error("usage: contest NAME publish|bulk|drain|latency --key value ..");
    await peer.prepare(address(process.env.DATABASE_URL));
    await work(peer, read(settings));
    process.exit(0);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

/** `prefer` means "with TLS or without" to PostgreSQL, and "with" to this driver. The throwaway server speaks none. */
function address(url) {
  const address = new URL(url);
  if (address.searchParams.get("sslmode") === "prefer") address.searchParams.set("sslmode", "disable");
  return address.href;
}

function read(settings) {
  const pairs = [];
  for (let at = 0; at < settings.length; at += 2) {
    pairs.push([settings[at].replace(/^--/, ""), Number(settings[at + 1])]);
  }
  return Object.fromEntries(pairs);
}

const works = {
  // Events, each a transaction that enqueues five jobs, by eight connections at once.
  async publish(peer, { events = 10_000 }) {
    await publish(peer, 400);
    await peer.analyze();
    await ready(peer);
    const start = performance.now();
    await publish(peer, events);
    await done({ seconds: since(start), jobs: events * JOBS_AN_EVENT, events });
  },

  // Many jobs at once, by what the library has for that.
  async bulk(peer, { jobs, events, "fan-out": fanOut = JOBS_AN_EVENT }) {
    const count = jobs ?? (events ?? 20_000) * fanOut;
    await peer.bulk(0, 2_000);
    await peer.analyze();
    await ready(peer);
    const start = performance.now();
    await peer.bulk(0, count);
    await done({ seconds: since(start), jobs: count, events });
  },

  // A backlog worked off by a handler that does nothing.
  async drain(peer, { jobs = 100_000 }) {
    await peer.bulk(0, jobs);
    await peer.analyze();
    const seen = new Uint8Array(jobs);
    let handledJobs = 0;
    let runs = 0;
    const { promise: last, resolve } = Promise.withResolvers();
    started = (number) => {
      runs += 1;
      if (seen[number]) return;
      seen[number] = 1;
      handledJobs += 1;
      if (handledJobs === jobs) resolve();
    };
    await ready(peer);
    const start = performance.now();
    await peer.work();
    await last;
    await completed(peer);
    await done({ seconds: since(start), jobs, runs });
  },

  // One job at a time to a worker that has nothing to do.
  async latency(peer, { jobs, samples = jobs ?? 200 }) {
    const warmUp = 20;
    const result = { latencies_ms: [], enqueue_latencies_ms: [] };
    let begun = performance.now();
    await peer.work();
    for (let number = 0; number < warmUp + samples; number += 1) {
      if (number === warmUp) {
        await peer.analyze();
        await ready(peer);
        begun = performance.now();
      }
      // Long enough for the worker to come to rest, and each time another part of whatever interval it polls in.
      await pause(40 + ((number * 37) % 100));
      const { promise: start, resolve } = Promise.withResolvers();
      started = (seen) => seen === number && resolve(performance.now());
      const enqueue = performance.now();
      await peer.enqueue(payload(number));
      const committed = performance.now();
      const at = await start;
      await completed(peer);
      if (number >= warmUp) {
        result.latencies_ms.push(at - committed);
        result.enqueue_latencies_ms.push(at - enqueue);
      }
    }
    await done({ seconds: since(begun), jobs: samples, ...result });
  },
};

async function publish(peer, events) {
  let next = 0;
  const publisher = async () => {
    for (let event = next++; event < events; event = next++) {
      await peer.publish(payloads(event * JOBS_AN_EVENT, (event + 1) * JOBS_AN_EVENT));
    }
  };
  await Promise.all(Array.from({ length: PUBLISHERS }, publisher));
}

// Asked only after the last handler has run, so that the question takes nothing from the work.
async function completed(peer) {
  while ((await peer.unfinished()) > 0) await pause(2);
}

const input = createInterface({ input: process.stdin });
const ended = once(input, "close");

async function ready(peer) {
  const line = once(input, "line");
  say({ ready: { settings: peer.settings, version: peer.version } });
  const [word] = await Promise.race([line, ended]);
  if (word?.trim() !== "go") throw new Error(`expected \`go\`, got ${word}`);
}

async function done(result) {
  say({ done: result });
  await ended;
}

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function since(start) {
  return (performance.now() - start) / 1000;
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
