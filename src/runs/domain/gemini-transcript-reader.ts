import {
  type Action,
  CliTranscriptReader,
  firstText,
  type Line,
  objectOf,
  objectsOf,
  shortened,
  textOf,
} from './cli-transcript-reader.js';

const TODO_TOOL = 'write_todos';
/** `mcp__server__tool`, or the CLI's own `mcp_server_tool`: there it takes what is before the first underscore for the server. */
const SERVER_TOOL = /^mcp_(?:_(.+?)__|([^_]+)_)(.+)$/;

/** Reads the stream of Gemini CLI (`-o stream-json`), whose answers come in pieces. */
export class GeminiTranscriptReader extends CliTranscriptReader {
  protected readLine(line: Line): void {
    switch (line.type) {
      case 'init':
        return;
      case 'message':
        return this.readMessage(line);
      case 'tool_use':
        return this.readToolUse(line);
      case 'tool_result': {
        const failure = textOf(objectOf(line.error).message);
        const output = shortened(textOf(line.output) ?? failure ?? '');
        return this.result(textOf(line.tool_id) ?? '', line.status === 'error' ? 'failed' : 'completed', {
          output,
        });
      }
      case 'error':
        return this.event('warning', { severity: line.severity, message: textOf(line.message) });
      case 'result':
        return this.endTurn(
          {
            success: line.status === 'success',
            error: textOf(objectOf(line.error).message),
            usage: line.stats,
            duration_ms: objectOf(line.stats).duration_ms,
          },
          textOf(line.timestamp),
        );
      default:
        return this.event('unknown', { type: line.type });
    }
  }

  private readMessage(line: Line): void {
    const text = textOf(line.content) ?? '';
    const timestamp = textOf(line.timestamp);
    if (line.role !== 'assistant') {
      if (!this.isEcho(text)) this.add('user', { type: 'text', text: shortened(text) }, timestamp);
      return;
    }
    const last = this.current.messages.at(-1);
    const block = last?.role === 'assistant' ? last.content.at(-1) : undefined;
    if (line.delta === true && block?.type === 'text') block.text = shortened(block.text + text);
    else {
      // Its messages have no ids.
      const id = `${this.current.id}:message_${String(this.current.messages.length)}`;
      this.add('assistant', { type: 'text', text: shortened(text), message_id: id }, timestamp);
    }
    const said = this.current.messages.at(-1)?.content.at(-1);
    if (said?.type === 'text') this.current.summary = said.text;
  }

  private readToolUse(line: Line): void {
    const input = objectOf(line.parameters);
    if (line.tool_name === TODO_TOOL) return this.event('plan_updated', { items: objectsOf(input.todos) });
    const action = toAction(textOf(line.tool_name) ?? '', input);
    this.add('assistant', this.toAction(textOf(line.tool_id) ?? '', action), textOf(line.timestamp));
  }
}

function toAction(tool: string, input: Line): Action {
  const path = firstText(input, 'file_path', 'absolute_path', 'dir_path', 'path');
  switch (tool) {
    case 'run_shell_command':
      return { category: 'command', name: 'run_command', input: { command: textOf(input.command) ?? '' } };
    case 'read_file':
    case 'list_directory':
      return { category: 'files', name: 'read_files', input: { paths: [path] } };
    case 'read_many_files':
      return { category: 'files', name: 'read_files', input: { paths: input.include ?? input.paths } };
    case 'replace':
    case 'write_file':
      return { category: 'files', name: 'edit_files', input: { paths: [path] } };
    case 'grep_search':
    case 'search_file_content':
    case 'glob':
      return { category: 'search', name: 'grep', input: { pattern: textOf(input.pattern) ?? '', path } };
    case 'google_web_search':
      return { category: 'search', name: 'search_web', input: { query: textOf(input.query) ?? '' } };
    case 'web_fetch':
      return {
        category: 'search',
        name: 'fetch_url',
        input: { url: firstText(input, 'url', 'prompt') ?? '' },
      };
    case 'activate_skill':
      return { category: 'skill', name: 'use_skill', input };
    case 'invoke_agent':
      return { category: 'integration', name: 'run_agent', input };
    default:
      return { category: 'integration', name: tool.replace(SERVER_TOOL, '$1$2.$3'), input };
  }
}
