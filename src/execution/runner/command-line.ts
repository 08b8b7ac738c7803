import { parseArgs } from 'node:util';

/** What takes the place of the environment's. */
export interface Addresses {
  rootUrl?: string;
  runId?: string;
}

/** A call of harness-support that an agent, a skill or a worker's wrapper makes by this program. */
export type Report =
  | { call: 'ping' }
  | { call: 'report-artifact' | 'notify-user' | 'finish-task' | 'report-shutdown'; body: object };

export type CommandLine =
  | { kind: 'execute'; addresses: Addresses }
  | { kind: 'report'; addresses: Addresses; report: Report }
  | { kind: 'unknown'; problem: string };

type Flags = Record<string, string | undefined>;

const FLAGS = [
  'task-id',
  'server-root-url',
  'run-id',
  'url',
  'branch',
  'reference-type',
  'title',
  'message',
  'status',
  'summary',
  'error-category',
  'error-message',
] as const;

/**
 * Reads the argument vector: none and `agent run …` execute a run, `harness-support …` makes one call. Published workers pass flags that
 * mean nothing here; those are ignored.
 */
export function parseCommandLine(args: string[]): CommandLine {
  const options = Object.fromEntries(FLAGS.map((flag) => [flag, { type: 'string' as const }]));
  const { values, positionals } = parseArgs({ args, options, strict: false, allowPositionals: true });
  const flags: Flags = Object.fromEntries(
    FLAGS.map((flag) => [flag, typeof values[flag] === 'string' ? values[flag] : undefined]),
  );
  const addresses = { rootUrl: flags['server-root-url'], runId: flags['run-id'] ?? flags['task-id'] };
  const [command, subcommand] = positionals;
  if (command === undefined || (command === 'agent' && subcommand === 'run')) {
    return { kind: 'execute', addresses };
  }
  if (command !== 'harness-support') return { kind: 'unknown', problem: `There is no command "${command}".` };
  const report = parseReport(positionals.slice(1), flags);
  return typeof report === 'string'
    ? { kind: 'unknown', problem: report }
    : { kind: 'report', addresses, report };
}

/** @returns the call, or what is wrong */
function parseReport([name = '', what]: string[], flags: Flags): Report | string {
  switch (name) {
    case 'ping':
      return { call: 'ping' };
    case 'report-artifact': {
      if (what !== 'pull-request') return 'Only a pull-request can be reported in this way.';
      const { url, branch } = flags;
      if (url === undefined || branch === undefined) return 'It takes --url and --branch.';
      return { call: 'report-artifact', body: { artifact_type: 'PULL_REQUEST', data: { url, branch } } };
    }
    case 'report-external-reference': {
      const { url, title, 'reference-type': type } = flags;
      if (url === undefined || type === undefined) return 'It takes --url and --reference-type.';
      const data = { url, reference_type: type, title };
      return { call: 'report-artifact', body: { artifact_type: 'EXTERNAL_REFERENCE', data } };
    }
    case 'notify-user':
      if (flags.message === undefined) return 'It takes --message.';
      return { call: 'notify-user', body: { message: flags.message } };
    case 'finish-task': {
      const { status, summary = '' } = flags;
      if (status !== 'success' && status !== 'failure')
        return 'It takes --status success or --status failure.';
      return { call: 'finish-task', body: { success: status === 'success', summary } };
    }
    case 'report-shutdown': {
      const { 'error-category': category, 'error-message': message = '' } = flags;
      const body = category === undefined ? {} : { error: { category, message } };
      return { call: 'report-shutdown', body };
    }
    default:
      return `There is no command "harness-support ${name}".`;
  }
}
