import type { Block, Conversation, CreatedRun, Run, RunList, Step, Timeline } from '../answers.js';
import { personText } from './account-text.js';
import { fields, oneLine, printable, table } from './layout.js';

const TITLE_CHARACTERS = 60;
const PAYLOAD_CHARACTERS = 200;

export const createdRunText = (run: CreatedRun): string => fields({ run: run.run_id, state: run.state });

export const runText = (run: Run): string =>
  fields({
    run: run.run_id,
    title: run.title,
    state: run.state,
    message: run.status_message?.message,
    error: run.status_message?.error_code,
    created: run.created_at,
    started: run.started_at,
    updated: run.updated_at,
    'run time': run.run_time,
    source: run.source,
    creator: run.creator && personText(run.creator),
    executor: run.executor && personText(run.executor),
    model: run.agent_config?.model_id,
    skill: run.agent_config?.skill_spec,
    environment: run.agent_config?.environment_id,
    conversation: run.conversation_id,
    metadata: Object.entries(run.metadata ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(' '),
  });

export const runListText = ({ runs }: RunList): string =>
  table(
    ['RUN', 'STATE', 'UPDATED', 'TITLE'],
    runs.map((run) => [run.run_id, run.state, run.updated_at, oneLine(run.title, TITLE_CHARACTERS)]),
  );

/** The events in their order; one that happened outside an execution names none. */
export const timelineText = ({ events }: Timeline): string =>
  table(
    ['TIME', 'EXECUTION', 'EVENT', 'DETAILS'],
    events.map((event) => [
      event.occurred_at,
      event.execution_id?.toString(),
      event.event_type,
      event.payload && oneLine(JSON.stringify(event.payload), PAYLOAD_CHARACTERS),
    ]),
  );

/** What was said and done, in its order: prompts behind `>`, commands behind `$`, their output as it was. */
export const conversationText = ({ steps }: Conversation): string => steps.flatMap(stepLines).join('\n');

/** A sub-agent's step is indented below the one that it belongs to. */
function stepLines(step: Step): string[] {
  return [
    ...step.messages.flatMap(({ role, content }) => content.flatMap((block) => blockLines(block, role))),
    ...step.steps.flatMap(stepLines).map((line) => `  ${line}`),
  ];
}

function blockLines(block: Block, role: string): string[] {
  switch (block.type) {
    case 'text':
      return linesOf(block.text).map((line) => (role === 'user' ? `> ${line}`.trimEnd() : line));
    case 'action': {
      const { command } = block.input;
      const isCommand = typeof command === 'string';
      const [first = '', ...rest] = linesOf(isCommand ? command : JSON.stringify(block.input));
      return [
        isCommand ? `$ ${first}` : `* ${oneLine(block.name)} ${first}`,
        ...rest.map((line) => `  ${line}`),
      ];
    }
    case 'action_result': {
      const { output, exit_code: exitCode, truncated_bytes: left, ...others } = block.output;
      const notes = [
        block.state === 'completed' ? '' : oneLine(block.state),
        typeof exitCode === 'number' && exitCode !== 0 ? `exit code ${exitCode}` : '',
        typeof left === 'number' ? `${left} bytes left out` : '',
      ].filter((note) => note !== '');
      return [
        ...linesOf(typeof output === 'string' ? output : toJson({ output, ...others })),
        ...(notes.length > 0 ? [`[${notes.join(', ')}]`] : []),
      ];
    }
    case 'event':
      return []; // the timeline tells of them
    default:
      return []; // a kind of block that a later service knows
  }
}

/** Without the last line break; no lines for no text. */
function linesOf(text: string): string[] {
  const shown = printable(text).replace(/\n$/, '');
  return shown === '' ? [] : shown.split('\n');
}

/** @returns empty text for an object whose fields are all absent */
function toJson(value: object): string {
  const json = JSON.stringify(value);
  return json === '{}' ? '' : json;
}
