// A load generator that costs little beside what it measures: on a machine of few cores a general one takes as much of the processor for a
// request as the server does. Requests are made beforehand, and of an answer its status and its length are read, no more.
import { connect } from 'node:net';

/**
 * Sends POST requests over keep-alive connections, one at a time on each.
 *
 * @param options.make makes the next request: its path, headers and body
 * @param options.rate requests a second over all connections, evenly; a request that has to wait for a free connection has waited since
 *   it was due. Left out: as fast as answers come.
 * @returns `{ rate, p50, p99 }`: answers of 2xx a second, and their latencies in milliseconds
 * @throws when an answer is no success or a connection breaks
 */
export async function load({ url, connections, seconds, make, rate }) {
  const target = new URL(url);
  const prepared = Array.from({ length: Math.ceil((rate ?? 20_000) * seconds) }, () =>
    toBytes(make(), target),
  );
  const latencies = [];
  const due = [];
  const idle = [];
  let over = false;
  let failure;

  const sockets = await Promise.all(Array.from({ length: connections }, () => open(target)));
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  const ended = sockets.map(
    (socket) =>
      new Promise((resolve) => {
        let text = '';
        let since = 0;
        const send = (from) => {
          since = from;
          socket.write(prepared.pop() ?? toBytes(make(), target));
        };
        const next = () => {
          if (over || performance.now() >= until) return resolve();
          if (rate === undefined) send(performance.now());
          else if (due.length > 0) send(due.shift());
          else idle.push(send);
        };
        socket.on('data', (bytes) => {
          text += bytes.toString('latin1');
          const head = text.indexOf('\r\n\r\n');
          if (head < 0) return;
          const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
          if (text.length < head + 4 + length) return;
          if (!text.startsWith('HTTP/1.1 2')) failure ??= text.slice(0, 200);
          latencies.push(performance.now() - since);
          text = '';
          next();
        });
        socket.on('close', () => {
          if (!over && performance.now() < until) failure ??= 'a connection was closed';
          resolve();
        });
        next();
      }),
  );
  const pace = rate === undefined ? undefined : setInterval(tick, 1);
  let scheduled = 0;
  function tick() {
    const now = Math.min(performance.now(), until);
    for (; scheduled < ((now - startedAt) / 1000) * rate; scheduled += 1) {
      const at = startedAt + (scheduled / rate) * 1000;
      // In turns: one that is idle for seconds would be closed.
      const send = idle.shift();
      if (send === undefined) due.push(at);
      else send(at);
    }
  }
  const timer = setTimeout(() => {
    over = true;
    clearInterval(pace);
    setTimeout(() => sockets.forEach((socket) => socket.destroy()), 500);
  }, seconds * 1000);
  await Promise.all(ended);
  clearTimeout(timer);
  clearInterval(pace);
  over = true;
  for (const socket of sockets) socket.destroy();
  if (failure !== undefined) throw new Error(`${url}: ${failure}`);
  latencies.sort((a, b) => a - b);
  const quantile = (q) => latencies[Math.floor(latencies.length * q)] ?? 0;
  return {
    count: latencies.length,
    rate: latencies.length / seconds,
    p50: quantile(0.5),
    p99: quantile(0.99),
  };
}

function toBytes({ path, headers, body }, { host }) {
  const lines = Object.entries({ host, 'content-length': Buffer.byteLength(body), ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

function open({ hostname, port }) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}
