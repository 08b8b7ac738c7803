import { Injectable, type PipeTransform } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';

/** The largest integer of the database; ids are given from 1 on. */
export const MAX_SCORER_ID = 2 ** 31 - 1;

/** A scorer's id in a path. One that is malformed names nothing, so it answers 404 like an unknown one. */
@Injectable()
export class ScorerIdParam implements PipeTransform<string, number> {
  transform(value: string): number {
    const id = /^[1-9]\d{0,9}$/.test(value) ? Number(value) : undefined;
    if (id === undefined || id > MAX_SCORER_ID) throw Problem.notFound('scorer');
    return id;
  }
}
