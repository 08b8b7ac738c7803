import type { Block, Step } from './conversation.js';
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

const TODO_TOOL = 'TodoWrite';
const SUBAGENT_TOOLS: ReadonlySet<unknown> = new Set(['Task', 'Agent']);
/** Kinds of `system` lines that say nothing about the work. */
const SILENT: ReadonlySet<unknown> = new Set(['init', 'status']);

/** Reads the stream of Claude Code (`--output-format stream-json`); what a sub-agent does is a step in that of its parent. */
export class ClaudeTranscriptReader extends CliTranscriptReader {
  private readonly subagents = new Map<string, Step>();

  protected readLine(line: Line): void {
    switch (line.type) {
      case 'assistant':
        return this.readAssistant(line);
      case 'user':
        return this.readUser(line);
      case 'result':
        return this.readResult(line);
      case 'system':
        return this.readSystem(line);
      case 'stream_event':
        // A piece of what comes whole later.
        return;
      default:
        return this.event('unknown', { type: line.type });
    }
  }

  private readSystem(line: Line): void {
    if (line.subtype === 'api_retry') {
      this.event('warning', { message: textOf(line.error), attempt: line.attempt });
    } else if (!SILENT.has(line.subtype)) {
      this.event('unknown', { type: `system/${String(line.subtype)}` });
    }
  }

  /** One line for each block of a message: they share its id. */
  private readAssistant(line: Line): void {
    const message = objectOf(line.message);
    const id = textOf(message.id);
    const step = this.stepOf(line);
    for (const block of objectsOf(message.content)) {
      const read = this.readBlock(block, id);
      const last = step.messages.at(-1);
      if (id !== undefined && last?.role === 'assistant' && last.message_ids?.includes(id))
        last.content.push(read);
      else {
        const ids = id === undefined ? undefined : [id];
        step.messages.push({
          role: 'assistant',
          content: [read],
          message_ids: ids,
          timestamp: textOf(line.timestamp),
        });
      }
    }
  }

  private readBlock(block: Line, messageId: string | undefined): Block {
    switch (block.type) {
      case 'text':
        return { type: 'text', text: shortened(textOf(block.text) ?? ''), message_id: messageId };
      case 'thinking':
        return {
          type: 'event',
          name: 'reasoning',
          data: { summary: shortened(textOf(block.thinking) ?? '') },
        };
      case 'tool_use': {
        const input = objectOf(block.input);
        if (block.name === TODO_TOOL) {
          return { type: 'event', name: 'plan_updated', data: { items: objectsOf(input.todos) } };
        }
        const id = textOf(block.id) ?? '';
        if (SUBAGENT_TOOLS.has(block.name)) this.openSubagent(id, input);
        return this.toAction(id, toAction(textOf(block.name) ?? '', input), messageId);
      }
      default:
        return { type: 'event', name: 'unknown', data: { type: block.type } };
    }
  }

  private readUser(line: Line): void {
    const { content } = objectOf(line.message);
    const step = this.stepOf(line);
    if (typeof content === 'string') {
      if (!this.isEcho(content)) this.say('user', content, undefined, step);
      return;
    }
    const denied = new Set(
      objectsOf(line.tool_result_meta)
        .filter((meta) => objectOf(meta.permission_decision).decision === 'reject')
        .map((meta) => meta.id),
    );
    for (const block of objectsOf(content)) {
      const text = textOf(block.text);
      if (block.type === 'text' && text !== undefined && !this.isEcho(text))
        this.say('user', text, undefined, step);
      if (block.type !== 'tool_result') continue;
      const id = textOf(block.tool_use_id) ?? '';
      const state = denied.has(id) ? 'denied' : block.is_error === true ? 'failed' : 'completed';
      this.result(id, state, outputOf(block, objectOf(line.tool_use_result)), step);
      const subagent = this.subagents.get(id);
      if (subagent !== undefined) subagent.completed_at = textOf(line.timestamp);
    }
  }

  private readResult(line: Line): void {
    const text = textOf(line.result);
    this.current.summary = text === undefined ? undefined : shortened(text);
    for (const denial of objectsOf(line.permission_denials)) this.deny(textOf(denial.tool_use_id) ?? '');
    this.endTurn(
      {
        success: line.is_error === false,
        usage: line.usage,
        total_cost_usd: line.total_cost_usd,
        duration_ms: line.duration_ms,
      },
      this.current.messages.findLast(({ timestamp }) => timestamp !== undefined)?.timestamp,
    );
  }

  /** The agent says only at the end which of its actions were not allowed. */
  private deny(id: string): void {
    const result = [this.current, ...this.current.steps]
      .flatMap(({ messages }) => messages)
      .flatMap(({ content }) => content)
      .filter((block) => block.type === 'action_result')
      .find(({ action_id: actionId }) => actionId === id);
    if (result === undefined) this.result(id, 'denied', {});
    else result.state = 'denied';
  }

  private openSubagent(id: string, input: Line): void {
    const step: Step = {
      id,
      description: firstText(input, 'description', 'prompt'),
      messages: [],
      steps: [],
    };
    this.subagents.set(id, step);
    this.current.steps.push(step);
  }

  private stepOf(line: Line): Step {
    return this.subagents.get(textOf(line.parent_tool_use_id) ?? '') ?? this.current;
  }
}

function outputOf(block: Line, result: Line): Record<string, unknown> {
  const stdout = textOf(result.stdout);
  const stderr = textOf(result.stderr);
  const told =
    textOf(block.content) ??
    objectsOf(block.content)
      .map(({ text }) => textOf(text) ?? '')
      .join('\n');
  if (stdout === undefined || block.is_error === true) return { output: shortened(told) };
  return { output: shortened(stdout), ...(stderr && { stderr: shortened(stderr) }) };
}

function toAction(tool: string, input: Line): Action {
  const path = firstText(input, 'file_path', 'notebook_path', 'path');
  switch (tool) {
    case 'Bash':
      return { category: 'command', name: 'run_command', input: { command: textOf(input.command) ?? '' } };
    case 'Read':
      return { category: 'files', name: 'read_files', input: { paths: [path] } };
    case 'Edit':
    case 'MultiEdit':
    case 'Write':
    case 'NotebookEdit':
      return { category: 'files', name: 'edit_files', input: { paths: [path] } };
    case 'Grep':
    case 'Glob':
      return { category: 'search', name: 'grep', input: { pattern: textOf(input.pattern) ?? '', path } };
    case 'WebSearch':
      return { category: 'search', name: 'search_web', input: { query: textOf(input.query) ?? '' } };
    case 'WebFetch':
      return { category: 'search', name: 'fetch_url', input: { url: textOf(input.url) ?? '' } };
    case 'Skill':
      return { category: 'skill', name: 'use_skill', input };
    case 'Task':
    case 'Agent':
      return {
        category: 'integration',
        name: 'run_agent',
        input: { description: textOf(input.description) },
      };
    default: {
      const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
      return {
        category: 'integration',
        name: server === undefined ? tool : `${server}.${name ?? ''}`,
        input,
      };
    }
  }
}
