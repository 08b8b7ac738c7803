import { Problem } from '../../kernel/errors/problem.js';
import type { Refusal } from '../domain/environment-view.js';

/** What a caller is told who may not change an environment. */
export function toProblem({ outcome }: Refusal): Problem {
  switch (outcome) {
    case 'not_found':
      return Problem.notFound('environment or share');
    case 'guests_only_use':
      return new Problem('not_authorized', {
        detail: 'The environment is shared with you to read and to use; its owners change it',
      });
  }
}
