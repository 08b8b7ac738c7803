import { beforeEach, describe, expect, it } from '@jest/globals';
import { MINUTE, SECOND } from '../../kernel/clock.js';
import { BUDGET_CAPACITY, RequestBudget } from './request-budget.js';

let now: number;
let budget: RequestBudget;

beforeEach(() => {
  now = 5_000;
  budget = new RequestBudget(2, () => now);
});

describe('the budget of a key', () => {
  it('counts down and refuses what is over it', () => {
    expect(budget.spend('a')).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false });
    now += 10 * SECOND;
    expect(budget.spend('a')).toEqual({ limit: 2, remaining: 0, resetSeconds: 50, exceeded: false });
    expect(budget.spend('a')).toEqual({ limit: 2, remaining: 0, resetSeconds: 50, exceeded: true });
  });

  it('is its own', () => {
    for (let index = 0; index < 3; index += 1) budget.spend('a');
    expect(budget.spend('b')).toMatchObject({ remaining: 1, exceeded: false });
  });

  it('is whole again a minute after its first request, and not before', () => {
    for (let index = 0; index < 3; index += 1) budget.spend('a');
    now += MINUTE - 1;
    expect(budget.spend('a')).toMatchObject({ exceeded: true, resetSeconds: 1 });
    now += 1;
    expect(budget.spend('a')).toMatchObject({ remaining: 1, exceeded: false, resetSeconds: 60 });
  });

  it('is kept for a bounded number of keys, the latest', () => {
    budget.spend('first');
    for (let index = 0; index < BUDGET_CAPACITY; index += 1) budget.spend(`key ${index}`);
    expect(budget.spend(`key ${BUDGET_CAPACITY - 1}`)).toMatchObject({ remaining: 0 });
    expect(budget.spend('first')).toMatchObject({ remaining: 1 });
  });
});
