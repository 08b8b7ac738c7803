import type { Harness } from '../../identities/index.js';

/** A verdict that a judge can give, and what it is worth. */
export interface Label {
  value: string;
  /** From 0 to 1. */
  score: number;
  /** When it applies. */
  description?: string;
}

/** What people set of a scorer. */
export interface ScorerSettings {
  name: string;
  /** What the judge is to look at. */
  rubric: string;
  /** The agents whose runs it grades. */
  agentUids: string[];
  labels: Label[];
  /** A verdict of at least this score passes. */
  passingScore: number;
  /** The share of their runs that it grades by itself, from 0 to 1. */
  samplingRate: number;
  /** Of the judge; undefined: the system's default. */
  modelId?: string;
  harness?: Harness;
}

/** What a team grades the runs of its agents by. */
export interface Scorer extends ScorerSettings {
  id: number;
  /** The factory whose definition it is from. */
  factoryUid?: string;
  createdAt: Date;
  updatedAt: Date;
}

export const DEFAULT_SAMPLING_RATE = 0.25;
/** Characters. A judge gets the rubrics of all the scorers that it grades by. */
export const MAX_RUBRIC = 20_000;
export const MAX_AGENTS = 100;
export const MIN_LABELS = 2;
export const MAX_LABELS = 50;
/** Of one team. */
export const MAX_SCORERS = 1000;

export const passes = (score: number, passingScore: number): boolean => score >= passingScore;

/** What is wrong with the labels as a whole: each alone can be right and yet no verdict could tell runs apart. */
export function complaintAboutLabels(labels: Label[], passingScore: number): string | undefined {
  if (new Set(labels.map(({ value }) => value)).size < labels.length) return 'must have different values';
  if (!labels.some(({ score }) => passes(score, passingScore)))
    return 'must have at least one whose score reaches passing_score';
  if (labels.every(({ score }) => passes(score, passingScore)))
    return 'must have at least one whose score does not reach passing_score';
  return undefined;
}
