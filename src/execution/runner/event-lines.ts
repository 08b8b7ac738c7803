/** An event of the run, as far as a runner looks at it. */
export interface HeardEvent {
  type: string;
  sequence: number;
}

/** A line of ours is some hundred bytes; what is longer is not of ours. */
const MAX_LINE_CHARACTERS = 64 * 1024;

/**
 * The events of a stream of server-sent events (WHATWG HTML, 9.2.6), one line of data each, as this service writes them. Whatever else is
 * in it is passed over.
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<HeardEvent, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_CHARACTERS) rest = '';
    for (const line of lines) {
      const event = line.startsWith('data:') ? parse(line.slice('data:'.length)) : undefined;
      if (event !== undefined) yield event;
    }
  }
}

function parse(data: string): HeardEvent | undefined {
  try {
    const { event_type: type, sequence } = JSON.parse(data) as Record<string, unknown>;
    return typeof type === 'string' && typeof sequence === 'number' ? { type, sequence } : undefined;
  } catch {
    return undefined;
  }
}
