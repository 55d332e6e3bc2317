import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Transition, Workflow } from '@millwright/api/workflows.ts'

/** Returns a workflow in the form that is stored, with the default action of `WFX` transitions filled in. */
export function completed(workflow: Workflow): Workflow {
  return { ...workflow, transitions: workflow.transitions.map(withAction) }
}

function withAction(transition: Transition): Transition {
  return transition.eligible === 'WFX' ? { ...transition, action: transition.action ?? 'WAIT' } : transition
}

/** Throws a problem that lists all faults if the state machine is invalid. */
export function requireValid(workflow: Workflow): void {
  const names = namingFaults(workflow)
  // If a name is repeated or unknown, the transitions and paths are not checked.
  const faults = names.length > 0 ? names : [...transitionFaults(workflow), ...shapeFaults(workflow)]
  if (faults.length === 0) return
  throw new Problem('invalid_workflow', faults.map(({ detail }) => detail).join('; '), { errors: faults })
}

function namingFaults({ states, groups = [], transitions }: Workflow): FieldError[] {
  const stateNames = new Set(states.map(({ name }) => name))
  const grouped = new Set<string>()
  return [
    ...repeated(states, ({ name }) => name).map((index) =>
      fault(`/states/${index}`, 'repeated', `the state ${states[index]?.name} is defined twice`),
    ),
    ...repeated(groups, ({ name }) => name).map((index) =>
      fault(`/groups/${index}`, 'repeated', `the group ${groups[index]?.name} is defined twice`),
    ),
    ...groups.flatMap((group, index) =>
      group.states.flatMap((state, place) => {
        const at = `/groups/${index}/states/${place}`
        if (!stateNames.has(state))
          return [fault(at, 'unknown', `the group ${group.name} contains ${state}, which is not a state`)]
        if (grouped.has(state)) return [fault(at, 'repeated', `the state ${state} is in two groups`)]
        grouped.add(state)
        return []
      }),
    ),
    ...transitions.flatMap(({ from, to }, index) =>
      [from, to]
        .filter((state) => !stateNames.has(state))
        .map((state) =>
          fault(`/transitions/${index}`, 'unknown', `a transition contains ${state}, which is not a state`),
        ),
    ),
  ]
}

function transitionFaults({ states, transitions }: Workflow): FieldError[] {
  const byState = transitionsByState(transitions)
  return [
    ...repeated(transitions, ({ from, to, eligible, action = 'WAIT' }) =>
      JSON.stringify([from, to, eligible, action]),
    ).map((index) => {
      const { from, to, eligible } = transitions[index] as Transition
      return fault(
        `/transitions/${index}`,
        'repeated',
        `the transition ${from} → ${to} for ${eligible} is defined twice`,
      )
    }),
    ...states.flatMap(({ name }) => {
      const immediate = (byState.get(name) ?? []).filter(({ action }) => action === 'IMMEDIATE')
      if (immediate.length > 1)
        return [fault('/transitions', 'ambiguous', `more than one transition from ${name} is IMMEDIATE`)]
      if (immediate.some(({ to }) => to === name))
        return [fault('/transitions', 'endless', `the IMMEDIATE transition of ${name} leads to itself and never ends`)]
      return []
    }),
  ]
}

function shapeFaults(workflow: Workflow): FieldError[] {
  const cycle = findCycle(workflow)
  if (cycle !== undefined)
    return [fault('/transitions', 'cycle', `the workflow contains a cycle: ${[...cycle, cycle[0]].join(' → ')}`)]
  const initial = initialStates(workflow)
  const [first = ''] = initial
  if (initial.length !== 1)
    return [
      fault(
        '/states',
        'initial',
        `a workflow needs exactly one initial state, but has ${initial.length}: ${initial.join(', ')}`,
      ),
    ]
  const reachable = reachableFrom(workflow, first)
  return workflow.states.flatMap(({ name }, index) =>
    reachable.has(name)
      ? []
      : [fault(`/states/${index}`, 'unreachable', `the state ${name} cannot be reached from the initial state`)],
  )
}

function fault(pointer: string, code: string, detail: string): FieldError {
  return { pointer, code, detail }
}

/** Returns the indexes of elements whose key an earlier element already has. */
function repeated<Element>(elements: readonly Element[], key: (element: Element) => string): number[] {
  const seen = new Set<string>()
  return elements.flatMap((element, index) => {
    const elementKey = key(element)
    if (seen.has(elementKey)) return [index]
    seen.add(elementKey)
    return []
  })
}

/** Returns the next states. It leaves out the state itself, because a transition to the same state is a progress report. */
export function nextStates({ transitions }: Workflow, state: string): string[] {
  return [...new Set(transitions.filter(({ from, to }) => from === state && to !== state).map(({ to }) => to))]
}

function initialStates({ states, transitions }: Workflow): string[] {
  const entered = new Set(transitions.filter(({ from, to }) => from !== to).map(({ to }) => to))
  return states.map(({ name }) => name).filter((name) => !entered.has(name))
}

/** Returns the initial state of a valid workflow. */
export function initialState(workflow: Workflow): string {
  return initialStates(workflow)[0] ?? ''
}

/** Returns whether a state is final: it has no transitions to other states. */
export function isFinal(workflow: Workflow, state: string): boolean {
  return nextStates(workflow, state).length === 0
}

export function groupOf({ groups = [] }: Workflow, state: string): string | undefined {
  return groups.find(({ states }) => states.includes(state))?.name
}

type TransitionsByState = ReadonlyMap<string, readonly Transition[]>

/** Returns the transitions from each state. */
function transitionsByState(transitions: Workflow['transitions']): TransitionsByState {
  return Map.groupBy(transitions, ({ from }) => from)
}

function reachableFrom(workflow: Workflow, first: string): Set<string> {
  const byState = transitionsByState(workflow.transitions)
  const reachable = new Set([first])
  for (const state of reachable) for (const { to } of byState.get(state) ?? []) reachable.add(to)
  return reachable
}

/** Returns the states of one cycle, or `undefined` if there is none. It ignores transitions from a state to itself. */
function findCycle(workflow: Workflow): string[] | undefined {
  const byState = transitionsByState(workflow.transitions)
  const done = new Set<string>()
  const visit = (state: string, path: string[]): string[] | undefined => {
    const place = path.indexOf(state)
    if (place >= 0) return path.slice(place)
    if (done.has(state)) return undefined
    for (const { from, to } of byState.get(state) ?? []) {
      const cycle = from === to ? undefined : visit(to, [...path, state])
      if (cycle !== undefined) return cycle
    }
    done.add(state)
    return undefined
  }
  for (const { name } of workflow.states) {
    const cycle = visit(name, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}
