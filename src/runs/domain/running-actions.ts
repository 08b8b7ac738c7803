import type { Block, Message, Step } from './conversation.js';

/** The same with a result `running` for each action that has none: it still is, or was when the transcript ended. */
export function withRunningActions(steps: Step[]): Step[] {
  const ended = new Set(
    blocksOf(steps).flatMap((block) => (block.type === 'action_result' ? [block.action_id] : [])),
  );
  const runningOf = ({ content, timestamp }: Message): Message[] =>
    content.flatMap((block) => {
      if (block.type !== 'action' || ended.has(block.id)) return [];
      const { id, category, name } = block;
      const result: Block = {
        type: 'action_result',
        action_id: id,
        category,
        name,
        state: 'running',
        output: {},
      };
      return [{ role: 'tool', content: [result], timestamp }];
    });
  const complete = (step: Step): Step => ({
    ...step,
    messages: step.messages.flatMap((message) => [message, ...runningOf(message)]),
    steps: step.steps.map(complete),
  });
  return steps.map(complete);
}

const blocksOf = (steps: Step[]): Block[] =>
  steps.flatMap((step) => [...step.messages.flatMap(({ content }) => content), ...blocksOf(step.steps)]);
