import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import type { WaitingEvaluation } from './evaluation.js';
import { judgePrompt } from './judge-prompt.js';

const EVALUATION: WaitingEvaluation = {
  id: '019c3f0f-11aa-7c04-b6f5-7c0f2f9f8e21',
  teamUid: '019c3f0e-0000-7000-8000-000000000002',
  runId: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11',
  judge: { harness: { type: 'oz' } },
  scorers: [
    {
      id: 12,
      name: 'Polite',
      rubric: 'Was it polite?',
      labels: [
        { value: "it's polite", score: 1, description: 'Throughout' },
        { value: 'rude', score: 0 },
      ],
    },
    { id: 13, name: 'Brief', rubric: 'Was it brief?', labels: [{ value: 'brief', score: 0.5 }] },
  ],
};

/** The example in the prompt, as a shell would carry it out with this program in the place of curl. */
function carryOut(prompt: string, curl: string): string {
  const [, example = ''] = /```sh\n([^]*?)```/.exec(prompt) ?? [];
  return execFileSync('/bin/sh', ['-c', `curl() { ${curl}; }\n${example}`], {
    env: { WARP_SERVER_ROOT_URL: 'http://127.0.0.1:8080/', WARP_API_KEY: 'the-key' },
    encoding: 'utf8',
  });
}

describe('the prompt of a judge', () => {
  const prompt = judgePrompt(EVALUATION, true);

  it('has every scorer with its rubric and labels', () => {
    expect(prompt).toContain('## Scorer 12: Polite\n\nWas it polite?');
    expect(prompt).toContain("- `it's polite` (score 1): Throughout\n- `rude` (score 0)");
    expect(prompt).toContain('## Scorer 13: Brief\n\nWas it brief?');
  });

  it('says where the transcript is, or that there is none', () => {
    expect(prompt).toContain('`transcript.jsonl`');
    expect(judgePrompt(EVALUATION, false)).not.toContain('`transcript.jsonl`');
    expect(judgePrompt(EVALUATION, false)).toContain('no transcript');
  });

  it('has an example of a report that a shell understands', () => {
    const words = carryOut(prompt, `printf '%s\\n' "$@"`).split('\n');
    expect(words).toContain(
      'http://127.0.0.1:8080/v1/agent/runs/019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11/scores',
    );
    expect(JSON.parse(words[words.indexOf('-d') + 1] ?? '')).toEqual({
      results: [{ scorer_id: 12, classification: "it's polite", reason: 'Why' }],
    });
  });

  it('gives the key to that example’s standard input, and not to its arguments', () => {
    expect(carryOut(prompt, `printf '%s\\n' "$@"`)).not.toContain('the-key');
    expect(carryOut(prompt, '/bin/cat')).toBe('Authorization: Bearer the-key\n');
  });

  it('has no commands that the script harness would execute', () => {
    expect(prompt).not.toContain('```bash');
  });
});
