// The npm package `graphile-worker`.

import { Logger, makeWorkerUtils, run as runWorker } from "graphile-worker";
import pg from "pg";
import { handled, inChunks, payloads, run, version } from "./contestant.mjs";

const TASK = "job";
const silent = new Logger(() => (level, message) => {
  if (level === "error") console.error(message);
});

class GraphileWorker {
  settings =
    "concurrentJobs 24, pool 26, localQueue 500 with refetchDelay 10 ms, completeJobBatchDelay 0; add_jobs in SQL on the transaction, addJobs of 5000";
  version = version("graphile-worker");

  async prepare(url) {
    this.pool = new pg.Pool({ connectionString: url, max: 26 });
    this.pool.on("error", console.error);
    this.pool.on("connect", (client) => client.on("error", console.error));
    this.utils = await makeWorkerUtils({ pgPool: this.pool, logger: silent });
    await this.utils.migrate();
  }

  async analyze() {
    await this.pool.query("ANALYZE");
  }

  // Its functions in SQL are the documented way into a transaction of the caller: https://worker.graphile.org/docs/sql-add-job
  async publish(jobs) {
    const specs = jobs.map((job) => ({ identifier: TASK, payload: job }));
    const client = await this.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query({
        name: "publish",
        text: "SELECT count(*) FROM graphile_worker.add_jobs(array(SELECT json_populate_recordset(null::graphile_worker.job_spec, $1::json)))",
        values: [JSON.stringify(specs)],
      });
      await client.query("COMMIT");
    } finally {
      client.release();
    }
  }

  async bulk(from, to) {
    await inChunks(from, to, 5_000, (start, end) =>
      this.utils.addJobs(payloads(start, end).map((job) => ({ identifier: TASK, payload: job }))),
    );
  }

  async enqueue(job) {
    await this.utils.addJob(TASK, job);
  }

  // What https://worker.graphile.org/docs/performance#batching recommends for many short jobs: the local queue and batched completion.
  async work() {
    await runWorker({
      pgPool: this.pool,
      logger: silent,
      noHandleSignals: true,
      taskList: { [TASK]: (job) => handled(job.number) },
      preset: {
        worker: {
          concurrentJobs: 24,
          localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
  }

  async unfinished() {
    const { rows } = await this.pool.query("SELECT count(*)::int AS jobs FROM graphile_worker._private_jobs");
    return rows[0].jobs;
  }
}

await run(new GraphileWorker());
