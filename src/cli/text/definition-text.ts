import type { AppliedDefinition, Webhooks } from '../answers.js';
import { table } from './layout.js';

export const appliedText = ({ applied, plan }: AppliedDefinition): string =>
  [
    ...plan.map(({ action, kind, name }) => `${action} ${kind} ${name}`),
    plan.length === 0 ? 'Nothing to change' : applied ? 'Applied' : 'Not applied: this was a dry run',
  ].join('\n');

export const webhooksText = ({ webhooks }: Webhooks): string =>
  table(
    ['WEBHOOK', 'UID', 'INGRESS URL'],
    webhooks.map(({ name, uid, ingress_url: url }) => [name, uid, url]),
  );

export const filesText = ({ files }: { files: Record<string, string> }): string =>
  Object.entries(files)
    .map(([file, text]) => `==> ${file} <==\n${text}`)
    .join('\n');
