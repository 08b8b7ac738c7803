import {
  type Action,
  type ActionState,
  CliTranscriptReader,
  type Line,
  objectOf,
  objectsOf,
  shortened,
  textOf,
} from './cli-transcript-reader.js';

/** Reads the stream of `codex exec --json`. Its items are numbered anew in every turn. */
export class CodexTranscriptReader extends CliTranscriptReader {
  protected readLine(line: Line): void {
    switch (line.type) {
      case 'thread.started':
      case 'turn.started':
        return;
      case 'item.started':
      case 'item.updated':
        return this.readItem(objectOf(line.item), false);
      case 'item.completed':
        return this.readItem(objectOf(line.item), true);
      case 'turn.completed':
        return this.endTurn({ success: true, usage: line.usage });
      case 'turn.failed':
        return this.endTurn({ success: false, error: textOf(objectOf(line.error).message) });
      case 'error':
        return this.event('warning', { message: textOf(line.message) });
      default:
        return this.event('unknown', { type: line.type });
    }
  }

  private readItem(item: Line, completed: boolean): void {
    const id = `${this.current.id}:${textOf(item.id) ?? ''}`;
    switch (item.type) {
      case 'agent_message':
        if (!completed) return;
        this.current.summary = shortened(textOf(item.text) ?? '');
        return this.say('assistant', textOf(item.text) ?? '', id);
      case 'reasoning':
        if (completed) this.event('reasoning', { summary: shortened(textOf(item.text) ?? '') });
        return;
      case 'todo_list':
        return this.event('plan_updated', { items: objectsOf(item.items) });
      case 'plan':
        if (completed) this.event('plan_updated', { text: shortened(textOf(item.text) ?? '') });
        return;
      case 'error':
        return this.event('warning', { message: textOf(item.message) });
      default: {
        const action = toAction(item);
        if (action === undefined) return this.event('unknown', { type: `item/${String(item.type)}` });
        if (!this.hasBegun(id)) this.add('assistant', this.toAction(id, action));
        if (completed) this.result(id, stateOf(item), outputOf(item));
      }
    }
  }
}

function stateOf({ status, exit_code: exitCode }: Line): ActionState {
  if (status === 'declined') return 'denied';
  if (status === 'failed') return 'failed';
  return typeof exitCode === 'number' && exitCode !== 0 ? 'failed' : 'completed';
}

function toAction(item: Line): Action | undefined {
  switch (item.type) {
    case 'command_execution':
      return { category: 'command', name: 'run_command', input: { command: textOf(item.command) ?? '' } };
    case 'file_change':
      return {
        category: 'files',
        name: 'edit_files',
        input: { paths: objectsOf(item.changes).map(({ path }) => textOf(path)) },
      };
    case 'mcp_tool_call':
      return {
        category: 'integration',
        name: `${textOf(item.server) ?? ''}.${textOf(item.tool) ?? ''}`,
        input: objectOf(item.arguments),
      };
    case 'web_search':
      return { category: 'search', name: 'search_web', input: { query: textOf(item.query) ?? '' } };
    case 'collab_tool_call':
      return { category: 'integration', name: 'run_agent', input: { prompt: textOf(item.prompt) } };
    default:
      return undefined;
  }
}

function outputOf(item: Line): Record<string, unknown> {
  switch (item.type) {
    case 'command_execution':
      return { output: shortened(textOf(item.aggregated_output) ?? ''), exit_code: item.exit_code };
    case 'file_change':
      return { changes: objectsOf(item.changes).map(({ path, kind }) => ({ path, kind })) };
    case 'mcp_tool_call': {
      const error = textOf(objectOf(item.error).message);
      const texts = objectsOf(objectOf(item.result).content).map(({ text }) => textOf(text) ?? '');
      return error === undefined ? { output: shortened(texts.join('\n')) } : { error };
    }
    default:
      return {};
  }
}
