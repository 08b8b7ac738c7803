import { html, link, type Markup } from './markup.js';

/** The answers of the API, as far as the page shows them. */
export interface ShownRun {
  run_id: string;
  title: string;
  state: string;
  prompt?: string;
  created_at: string;
  updated_at: string;
  run_time?: string;
  source?: string;
  status_message?: { message: string; error_code?: string };
  creator?: { display_name?: string };
  executor?: { display_name?: string };
  agent_config?: { model_id?: string; environment_id?: string; skill_spec?: string };
  is_sandbox_running?: boolean;
  is_run_type_cancellable?: boolean;
  artifacts?: ShownArtifact[];
}

export interface ShownArtifact {
  artifact_type: string;
  created_at: string;
  data: Record<string, unknown>;
}

export interface ShownEvent {
  event_type: string;
  occurred_at: string;
  execution_id?: number;
  payload?: Record<string, unknown>;
}

export interface ShownStep {
  description?: string;
  messages: { role: string; timestamp?: string; content: ShownBlock[] }[];
  steps: ShownStep[];
}

export interface ShownBlock {
  type: string;
  text?: string;
  name?: string;
  state?: string;
  input?: Record<string, unknown>;
  output?: Record<string, unknown>;
  data?: Record<string, unknown>;
}

/** Output of a command can be megabytes; the transcript has it all. */
const MAX_OUTPUT = 20_000;
/** Sub-agents of sub-agents: deeper ones are not shown. */
const MAX_DEPTH = 20;

/** What can be cancelled: the run's own answer says the rest. */
const CANCELLABLE = new Set(['QUEUED', 'CLAIMED', 'INPROGRESS']);
const LIVE = new Set(['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS']);

export const isLive = (run: ShownRun): boolean => LIVE.has(run.state) || run.is_sandbox_running === true;

export const isCancellable = (run: ShownRun): boolean =>
  run.is_run_type_cancellable === true && CANCELLABLE.has(run.state);

/** Where the run stands, and why. */
export function renderState(run: ShownRun): Markup {
  const { status_message: status } = run;
  return html`<p class="state" data-state="${run.state}">
      <strong>${run.state}</strong>
      ${status === undefined ? undefined : html`<span>${status.message}</span>`}
      ${status?.error_code === undefined ? undefined : html`<code>${status.error_code}</code>`}
    </p>
    <dl>
      ${FACTS.flatMap(([name, of]) => {
        const value = of(run);
        return value === undefined || value === ''
          ? []
          : [
              html`<dt>${name}</dt>
                <dd>${value}</dd>`,
            ];
      })}
    </dl>
    ${
      run.prompt
        ? html`<details>
            <summary>Prompt</summary>
            <pre>${run.prompt}</pre>
          </details>`
        : undefined
    }`;
}

const FACTS: [name: string, of: (run: ShownRun) => string | undefined][] = [
  ['Run', (run) => run.run_id],
  ['Created', (run) => run.created_at],
  ['Updated', (run) => run.updated_at],
  ['Run time', (run) => run.run_time],
  ['Source', (run) => run.source],
  ['Creator', (run) => run.creator?.display_name],
  ['Executor', (run) => run.executor?.display_name],
  ['Model', (run) => run.agent_config?.model_id],
  ['Skill', (run) => run.agent_config?.skill_spec],
  ['Environment', (run) => run.agent_config?.environment_id],
];

/** What happened, in its order. */
export const renderTimeline = (events: ShownEvent[]): Markup =>
  events.length === 0
    ? html`<p>Nothing yet.</p>`
    : html`<ol class="timeline">
        ${events.map(
          ({ event_type, occurred_at, payload }) =>
            html`<li>
              <time datetime="${occurred_at}">${occurred_at}</time>
              <code>${event_type}</code>
              ${payload === undefined ? undefined : html`<small>${shortened(JSON.stringify(payload))}</small>`}
            </li>`,
        )}
      </ol>`;

/** What the run left behind. A file is fetched by its button, with the key. */
export const renderArtifacts = (artifacts: ShownArtifact[]): Markup =>
  artifacts.length === 0
    ? html`<p>None.</p>`
    : html`<ul>
        ${artifacts.map((artifact) => html`<li>${renderArtifact(artifact)}</li>`)}
      </ul>`;

function renderArtifact({ artifact_type: type, data }: ShownArtifact): Markup {
  const text = (name: string): string | undefined => {
    const value = data[name];
    return typeof value === 'string' ? value : undefined;
  };
  const label = text('title') ?? text('filename') ?? text('url') ?? text('description') ?? type;
  const url = text('url');
  const uid = text('artifact_uid');
  return html`<span class="type">${type}</span> ${url === undefined ? label : link(url, label)}
    ${
      uid === undefined || type === 'PLAN'
        ? undefined
        : html`<button type="button" data-download="${uid}">Download</button>`
    }
    ${
      uid !== undefined && type === 'PLAN'
        ? html`<button type="button" data-plan="${uid}">Show</button>`
        : undefined
    }
    ${text('branch') === undefined ? undefined : html`<code>${text('branch')}</code>`}`;
}

/** What was said and done. */
export const renderConversation = (steps: ShownStep[]): Markup =>
  steps.length === 0 ? html`<p>Nothing yet.</p>` : html`${steps.map((step) => renderStep(step, 0))}`;

function renderStep(step: ShownStep, depth: number): Markup {
  return html`<article class="step">
    ${step.messages.map(
      ({ role, content }) =>
        html`<section class="message" data-role="${role}">
          <h3>${role}</h3>
          ${content.map(renderBlock)}
        </section>`,
    )}${depth < MAX_DEPTH ? step.steps.map((inner) => renderStep(inner, depth + 1)) : []}
  </article>`;
}

function renderBlock(block: ShownBlock): Markup {
  switch (block.type) {
    case 'text':
      return html`<pre>${shortened(block.text ?? '')}</pre>`;
    case 'action':
      return html`<details>
        <summary>${block.name}</summary>
        <pre>${readable(block.input)}</pre>
      </details>`;
    case 'action_result':
      return html`<details>
        <summary>${block.name}: ${block.state}</summary>
        <pre>${readable(block.output)}</pre>
      </details>`;
    default:
      return html`<p><code>${block.name ?? block.type}</code> <small>${readable(block.data)}</small></p>`;
  }
}

/** The one text of an object that has one, such as a command or its output; else all of it as JSON. */
function readable(value: Record<string, unknown> | undefined): string {
  if (value === undefined) return '';
  const { command, output, stdout } = value;
  const text = [command, output, stdout].find((candidate) => typeof candidate === 'string');
  return shortened(text ?? JSON.stringify(value, null, 2));
}

const shortened = (text: string): string =>
  text.length <= MAX_OUTPUT
    ? text
    : `${text.slice(0, MAX_OUTPUT)}\n[${String(text.length - MAX_OUTPUT)} more characters]`;

/** What went wrong, in the words of the service. */
export const renderProblem = (message: string): Markup => html`<p role="alert">${message}</p>`;
