import { describe, expect, it } from '@jest/globals';
import { parseCommandLine } from './command-line.js';

const RUN = '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11';

describe('parseCommandLine', () => {
  it('executes a run without arguments', () => {
    expect(parseCommandLine([])).toEqual({ kind: 'execute', addresses: {} });
  });

  it('takes the argument vector of published workers', () => {
    const vector =
      `agent run --share team:edit --task-id ${RUN} --sandboxed --server-root-url http://mill:8080 --no-computer-use ` +
      '--harness claude --no-snapshot --snapshot-upload-timeout 30s --environment E --mcp {} --idle-on-complete 45m';
    expect(parseCommandLine(vector.split(' '))).toEqual({
      kind: 'execute',
      addresses: { runId: RUN, rootUrl: 'http://mill:8080' },
    });
  });

  it.each([
    ['ping', { call: 'ping' }],
    [
      'report-artifact pull-request --url https://x/pull/1 --branch fix',
      {
        call: 'report-artifact',
        body: { artifact_type: 'PULL_REQUEST', data: { url: 'https://x/pull/1', branch: 'fix' } },
      },
    ],
    [
      'report-external-reference --url https://x --reference-type ticket',
      {
        call: 'report-artifact',
        body: { artifact_type: 'EXTERNAL_REFERENCE', data: { url: 'https://x', reference_type: 'ticket' } },
      },
    ],
    ['notify-user --message hello', { call: 'notify-user', body: { message: 'hello' } }],
    [
      'finish-task --status success --summary done',
      { call: 'finish-task', body: { success: true, summary: 'done' } },
    ],
    ['finish-task --status failure', { call: 'finish-task', body: { success: false, summary: '' } }],
    ['report-shutdown', { call: 'report-shutdown', body: {} }],
    [
      'report-shutdown --error-category oom --error-message full',
      { call: 'report-shutdown', body: { error: { category: 'oom', message: 'full' } } },
    ],
  ])('makes the call %s', (text, report) => {
    const args = ['harness-support', '--run-id', RUN, ...text.split(' ')];
    expect(parseCommandLine(args)).toEqual({ kind: 'report', addresses: { runId: RUN }, report });
  });

  it.each([
    ['nonsense', 'There is no command "nonsense".'],
    ['harness-support', 'There is no command "harness-support ".'],
    ['harness-support report-artifact plan', 'Only a pull-request'],
    ['harness-support report-artifact pull-request --url x', 'It takes --url and --branch.'],
    ['harness-support finish-task --status maybe', 'It takes --status success'],
    ['harness-support notify-user --message', 'It takes --message.'],
  ])('says what is wrong with %s', (text, problem) => {
    expect(parseCommandLine(text.split(' '))).toEqual({
      kind: 'unknown',
      problem: expect.stringContaining(problem),
    });
  });
});
