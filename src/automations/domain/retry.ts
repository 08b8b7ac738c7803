/** After so many failures of ours it is over, about a quarter of an hour after the first. */
export const MAX_ATTEMPTS = 10;

const MAX_DELAY_SECONDS = 300;

/** How long to wait after so many attempts: 1 s, 2 s, 4 s and so on, at most 5 minutes. */
export const retryDelaySeconds = (attempts: number): number =>
  Math.min(2 ** Math.max(0, attempts - 1), MAX_DELAY_SECONDS);
