// An MCP server over standard input and output with no tools: notes in the file of its first argument that it was asked for them.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'note', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === 'tools/list') writeFileSync(process.argv[2], `${method} ${process.env.MARK}`);
  if (id === undefined) continue;
  const result = ANSWERS[method]?.(params) ?? {};
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}
