// The npm package `pg-boss`.

import pg from "pg";
import { PgBoss } from "pg-boss";
import { handled, inChunks, payloads, PUBLISHERS, run, version } from "./contestant.mjs";

const QUEUE = "job";

class Boss {
  settings =
    "useListenNotify, batchSize 1000, localConcurrency 4, burstWhenBatchFull, notifyPollingIntervalSeconds 30; insert with `db` on the transaction, insert of 5000";
  version = version("pg-boss");

  async prepare(url) {
    this.pool = new pg.Pool({ connectionString: url, max: PUBLISHERS });
    this.pool.on("error", console.error);
    // The listener is what its documentation offers for low latency, beside polling: https://pgboss.io/api/constructor
    this.boss = new PgBoss({ connectionString: url, max: 10, useListenNotify: true });
    this.boss.on("error", console.error);
    await this.boss.start();
    await this.boss.createQueue(QUEUE, { notify: true });
  }

  async analyze() {
    await this.pool.query("ANALYZE");
  }

  // `db` puts its statements on a transaction of the caller: https://pgboss.io/api/jobs
  async publish(jobs) {
    const client = await this.pool.connect();
    const db = { executeSql: (text, values) => client.query(text, values) };
    try {
      await client.query("BEGIN");
      await this.boss.insert(QUEUE, jobs.map((data) => ({ data })), { db });
      await client.query("COMMIT");
    } finally {
      client.release();
    }
  }

  async bulk(from, to) {
    await inChunks(from, to, 5_000, (start, end) =>
      this.boss.insert(QUEUE, payloads(start, end).map((data) => ({ data }))),
    );
  }

  async enqueue(job) {
    await this.boss.send(QUEUE, job);
  }

  // Batches and the burst are what its documentation has for throughput: https://pgboss.io/api/workers
  async work() {
    const options = { batchSize: 1_000, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
    await this.boss.work(QUEUE, options, async (jobs) => {
      for (const job of jobs) handled(job.data.number);
    });
  }

  async unfinished() {
    const text = "SELECT count(*)::int AS jobs FROM pgboss.job WHERE name = $1 AND state < 'completed'";
    const { rows } = await this.pool.query(text, [QUEUE]);
    return rows[0].jobs;
  }
}

await run(new Boss());
