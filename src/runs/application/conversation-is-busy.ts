import { Problem } from '../../kernel/errors/problem.js';

/** Two agents cannot speak in one conversation at a time: a 409 that is over when the other run ends. */
export const conversationIsBusy = (): Problem =>
  new Problem('conflict', {
    detail: 'Another run continues the conversation at the moment; wait until it has ended',
    retryable: true,
  });
