import { describe, expect, it } from '@jest/globals';
import { html, link } from './markup.js';
import {
  isCancellable,
  isLive,
  renderArtifacts,
  renderConversation,
  renderProblem,
  renderState,
  renderTimeline,
  type ShownRun,
  type ShownStep,
} from './render-run.js';

/** What would run, or leave its place, if it were not escaped. */
const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(1)'>&lt;</pre></details>`;

const RUN: ShownRun = {
  run_id: HOSTILE,
  title: HOSTILE,
  state: HOSTILE,
  prompt: HOSTILE,
  created_at: HOSTILE,
  updated_at: HOSTILE,
  run_time: HOSTILE,
  source: HOSTILE,
  status_message: { message: HOSTILE, error_code: HOSTILE },
  creator: { display_name: HOSTILE },
  executor: { display_name: HOSTILE },
  agent_config: { model_id: HOSTILE, environment_id: HOSTILE, skill_spec: HOSTILE },
};

const blocks = ['text', 'action', 'action_result', 'event', HOSTILE].map((type) => ({
  type,
  text: HOSTILE,
  name: HOSTILE,
  state: HOSTILE,
  input: { command: HOSTILE },
  output: { [HOSTILE]: HOSTILE },
  data: { [HOSTILE]: HOSTILE },
}));

const step: ShownStep = {
  description: HOSTILE,
  messages: [{ role: HOSTILE, timestamp: HOSTILE, content: blocks }],
  steps: [],
};

describe('what the page shows of a run', () => {
  it.each([
    ['state', () => renderState(RUN)],
    [
      'timeline',
      () => renderTimeline([{ event_type: HOSTILE, occurred_at: HOSTILE, payload: { [HOSTILE]: HOSTILE } }]),
    ],
    ['conversation', () => renderConversation([{ ...step, steps: [step] }])],
    [
      'artifacts',
      () =>
        renderArtifacts(
          ['PLAN', 'FILE', 'PULL_REQUEST', HOSTILE].map((artifact_type) => ({
            artifact_type,
            created_at: HOSTILE,
            data: {
              title: HOSTILE,
              url: `https://a.example/${HOSTILE}`,
              artifact_uid: HOSTILE,
              branch: HOSTILE,
            },
          })),
        ),
    ],
    ['problem', () => renderProblem(HOSTILE)],
  ])('in its %s is text, whatever it says', (_, render) => {
    const { text } = render();
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(text).not.toMatch(/<script|<img|onerror='/i);
    // Tags are those of the templates, each closed by its own; an attribute holds no quote.
    expect(tagsOf(text).filter((tag) => !KNOWN.test(tag))).toEqual([]);
  });

  it('leads to the web alone', () => {
    expect(link('https://a.example/x', 'X').text).toContain('href="https://a.example/x"');
    for (const address of ['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', '//a.example'])
      expect(link(address).text).not.toContain('<a');
  });

  it('is shortened where it is endless', () => {
    const endless = {
      ...step,
      messages: [{ role: 'tool', content: [{ type: 'text', text: 'x'.repeat(1e6) }] }],
    };
    expect(renderConversation([endless]).text.length).toBeLessThan(25_000);
    let deep = step;
    for (let depth = 0; depth < 10_000; depth++) deep = { messages: [], steps: [deep] };
    expect(renderConversation([deep]).text.length).toBeLessThan(25_000);
  });

  it('offers a cancel only where there is one', () => {
    const run = (state: string, is_run_type_cancellable = true) => ({
      ...RUN,
      state,
      is_run_type_cancellable,
    });
    expect(
      ['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'SUCCEEDED'].filter((state) =>
        isCancellable(run(state)),
      ),
    ).toEqual(['QUEUED', 'CLAIMED', 'INPROGRESS']);
    expect(isCancellable(run('QUEUED', false))).toBe(false);
    expect(isLive(run('PENDING'))).toBe(true);
    expect(isLive(run('CANCELLED'))).toBe(false);
    expect(isLive({ ...run('CANCELLED'), is_sandbox_running: true })).toBe(true);
  });

  it('escapes values, and not the markup that they are put into', () => {
    expect(html`<b>${'<i>'}</b>${html`<u>${1}</u>`}${[html`<s></s>`]}${undefined}`.text).toBe(
      '<b>&lt;i&gt;</b><u>1</u><s></s>',
    );
  });
});

const KNOWN =
  /^<\/?(p|strong|span|code|dl|dt|dd|details|summary|pre|ol|li|time|small|ul|a|button|article|section|h3)( [a-z-]+="[^"<>]*")*\s*>$/;

const tagsOf = (markup: string): string[] => markup.match(/<[^>]*>/g) ?? [];
