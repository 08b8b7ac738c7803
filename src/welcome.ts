const DEMO_PROMPT = 'Say where you are:\\n```bash\\necho \\"Hello from $(hostname), $(date)\\"\\n```';

/** What a person reads when the service is up: where everything is, and a line to paste that starts a run. */
export function welcome(facts: {
  publicUrl: string;
  /** Where this machine reaches the service. */
  localUrl: string;
  /** The admin's API key, when it was generated now: it can be shown this once. */
  generatedKey: string | undefined;
  workerSlots: number;
  seconds: number;
}): string {
  const { publicUrl, localUrl, generatedKey, workerSlots, seconds } = facts;
  const keyLines =
    generatedKey === undefined ? [] : ['', `  Admin API key (shown only now, keep it):  ${generatedKey}`];
  return [
    '',
    `Millwright is ready (${seconds.toFixed(1)} s)`,
    '',
    `  API         ${publicUrl}/v1`,
    `  Swagger UI  ${publicUrl}/docs`,
    `  Health      ${publicUrl}/readyz`,
    `  Worker      ${workerSlots === 0 ? 'none built in' : `built in, ${String(workerSlots)} runs at a time`}`,
    ...keyLines,
    '',
    'Start a run:',
    '',
    `  curl -sS ${localUrl}/v1/agent/runs -H "Authorization: Bearer ${generatedKey ?? '$MILLWRIGHT_API_KEY'}" -d '{"prompt":"${DEMO_PROMPT}"}'`,
    '',
  ].join('\n');
}
