/**
 * A state machine as data. Every event leads to one state, whatever state it is applied in, so a transition can be written as one
 * guarded statement: `UPDATE … SET state = target(event) WHERE state = ANY (sources(event))`.
 *
 * Both tables are `Record`s: leaving out a state or an event does not compile.
 */
export class StateMachine<State extends string, Event extends string> {
  constructor(
    private readonly targets: Readonly<Record<Event, State>>,
    private readonly accepted: Readonly<Record<State, readonly Event[]>>,
  ) {}

  get states(): State[] {
    return Object.keys(this.accepted) as State[];
  }

  get events(): Event[] {
    return Object.keys(this.targets) as Event[];
  }

  /** The state that the event leads to. */
  target(event: Event): State {
    return this.targets[event];
  }

  /** The states in which the event is accepted. */
  sources(event: Event): State[] {
    return this.states.filter((state) => this.accepts(state, event));
  }

  accepts(state: State, event: Event): boolean {
    return this.accepted[state].includes(event);
  }
}
