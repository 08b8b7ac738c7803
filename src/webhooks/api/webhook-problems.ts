import { Problem } from '../../kernel/errors/problem.js';

/** A webhook makes a secret of the team, which has as many as it may have. */
export const noRoomForSecret = (): Problem =>
  new Problem('budget_exceeded', {
    detail: 'The team has 1,000 secrets already: delete one, or name one in secret_name',
  });
