// A model on the loopback for the real agent CLIs: the three wire formats, a fixed plan. It asks for one shell command, which the prompt
// names as "run: <command>", and says "All done" once any command has been answered since.
import { createServer } from 'node:http';

const ROUTING = { model_choice: 'flash', complexity_score: 1, reasoning: 'x', next_speaker: 'user' };
const USAGE = { input: 10, output: 5 };

/** @returns {Promise<{ url: string, close(): Promise<void> }>} */
export async function startFakeModelServer() {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () =>
      answer(new URL(request.url, 'http://model'), parse(Buffer.concat(chunks)), response),
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

function answer({ pathname }, body, response) {
  if (pathname.endsWith('/count_tokens')) return json(response, { input_tokens: 10 });
  if (pathname.endsWith('/v1/messages')) return stream(response, anthropic(body));
  if (pathname.endsWith('/responses')) return stream(response, openai(body));
  if (pathname.includes(':streamGenerateContent')) return stream(response, [{ data: google(body) }]);
  if (pathname.includes(':generateContent')) return json(response, google(body));
  if (pathname.endsWith('/models')) return json(response, { object: 'list', data: [], models: [] });
  response.writeHead(404).end();
}

/** The command that is still to be run: that of the latest prompt, if no result has come after it. */
function nextCommand(turns) {
  let command;
  for (const turn of turns) {
    const asked = /run: ([^"\\\n<]+)/.exec(turn.prompt ?? '')?.[1];
    if (asked !== undefined) command = asked;
    if (turn.isResult) command = undefined;
  }
  return command;
}

function anthropic({ model, messages, tools = [] }) {
  const turns = messages.flatMap(({ role, content }) => {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    return blocks.map((block) => ({
      // What people say during a turn comes in the name of the system.
      prompt:
        role === 'user' || block.text?.startsWith('The user sent a new message') ? block.text : undefined,
      isResult: block.type === 'tool_result',
    }));
  });
  const command = tools.some(({ name }) => name === 'Bash') ? nextCommand(turns) : undefined;
  const call = {
    type: 'tool_use',
    id: `toolu_${Math.random().toString(36).slice(2)}`,
    name: 'Bash',
    input: { command },
  };
  const block = command === undefined ? { type: 'text', text: 'All done' } : call;
  const isCall = block.type === 'tool_use';
  const message = {
    id: `msg_${Math.random().toString(36).slice(2)}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: USAGE.input, output_tokens: 1 },
  };
  const delta = isCall
    ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
    : { type: 'text_delta', text: block.text };
  return [
    { type: 'message_start', message },
    {
      type: 'content_block_start',
      index: 0,
      content_block: isCall ? { ...block, input: {} } : { type: 'text', text: '' },
    },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: USAGE.output },
    },
    { type: 'message_stop' },
  ].map((data) => ({ event: data.type, data }));
}

function openai({ input = [] }) {
  const turns = input.map((item) => ({
    prompt:
      item.type === 'message' && item.role === 'user'
        ? item.content.map(({ text }) => text).join('\n')
        : undefined,
    isResult: /_call_output$/.test(item.type),
  }));
  const command = nextCommand(turns);
  const id = Math.random().toString(36).slice(2);
  const item =
    command === undefined
      ? {
          type: 'message',
          id: `msg_${id}`,
          role: 'assistant',
          content: [{ type: 'output_text', text: 'All done', annotations: [] }],
        }
      : {
          type: 'function_call',
          id: `fc_${id}`,
          call_id: `call_${id}`,
          name: 'exec_command',
          arguments: JSON.stringify({ cmd: command }),
        };
  const usage = {
    input_tokens: USAGE.input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: USAGE.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: USAGE.input + USAGE.output,
  };
  return [
    { type: 'response.created', response: { id: `resp_${id}` } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: `resp_${id}`, usage } },
  ].map((data) => ({ event: data.type, data }));
}

function google({ contents = [], tools = [], generationConfig = {} }) {
  const turns = contents.flatMap(({ role, parts = [] }) =>
    parts.map((part) => ({
      prompt: role === 'user' ? part.text : undefined,
      isResult: part.functionResponse !== undefined,
    })),
  );
  const hasShell = tools.some(({ functionDeclarations = [] }) =>
    functionDeclarations.some(({ name }) => name === 'run_shell_command'),
  );
  const command = hasShell ? nextCommand(turns) : undefined;
  // The CLI asks in this form which model to use, and who speaks next.
  const asksForJson = generationConfig.responseMimeType === 'application/json';
  const answer = asksForJson ? JSON.stringify(ROUTING) : 'All done';
  const part =
    command === undefined
      ? { text: answer }
      : { functionCall: { name: 'run_shell_command', args: { command, description: 'As asked' } } };
  return {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: USAGE.input,
      candidatesTokenCount: USAGE.output,
      totalTokenCount: USAGE.input + USAGE.output,
    },
    modelVersion: 'fake-model',
  };
}

function stream(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const { event, data } of events) {
    if (event !== undefined) response.write(`event: ${event}\n`);
    response.write(`data: ${JSON.stringify(data)}\n\n`);
  }
  response.end();
}

function json(response, body) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function parse(bytes) {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return {};
  }
}
