import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Transition, Workflow } from '@millwright/api/workflows.ts'

/** A workflow as it is kept: what the engine does by itself is said, not left to a default. */
export function completed(workflow: Workflow): Workflow {
  return { ...workflow, transitions: workflow.transitions.map(withAction) }
}

function withAction(transition: Transition): Transition {
  return transition.eligible === 'WFX' ? { ...transition, action: transition.action ?? 'WAIT' } : transition
}

/** Refuses what is no sound state machine, and says all that is wrong with it. */
export function requireSound(workflow: Workflow): void {
  const names = namingFaults(workflow)
  // A path through states that do not exist says nothing more.
  const faults = names.length > 0 ? names : [...transitionFaults(workflow), ...shapeFaults(workflow)]
  if (faults.length === 0) return
  throw new Problem('invalid_workflow', faults.map(({ detail }) => detail).join('; '), { errors: faults })
}

function namingFaults({ states, groups = [], transitions }: Workflow): FieldError[] {
  const known = new Set(states.map(({ name }) => name))
  const grouped = new Set<string>()
  return [
    ...repeated(states, ({ name }) => name).map((index) =>
      fault(`/states/${index}`, 'repeated', `the state ${states[index]?.name} is there twice`),
    ),
    ...repeated(groups, ({ name }) => name).map((index) =>
      fault(`/groups/${index}`, 'repeated', `the group ${groups[index]?.name} is there twice`),
    ),
    ...groups.flatMap((group, index) =>
      group.states.flatMap((state, place) => {
        const at = `/groups/${index}/states/${place}`
        if (!known.has(state))
          return [fault(at, 'unknown', `the group ${group.name} names ${state}, which is no state`)]
        if (grouped.has(state)) return [fault(at, 'repeated', `the state ${state} is in two groups`)]
        grouped.add(state)
        return []
      }),
    ),
    ...transitions.flatMap(({ from, to }, index) =>
      [from, to]
        .filter((state) => !known.has(state))
        .map((state) => fault(`/transitions/${index}`, 'unknown', `a transition names ${state}, which is no state`)),
    ),
  ]
}

function transitionFaults({ states, transitions }: Workflow): FieldError[] {
  const ways = waysOf(transitions)
  return [
    ...repeated(transitions, ({ from, to, eligible, action = 'WAIT' }) =>
      JSON.stringify([from, to, eligible, action]),
    ).map((index) => {
      const { from, to, eligible } = transitions[index] as Transition
      return fault(`/transitions/${index}`, 'repeated', `the transition ${from} → ${to} for ${eligible} is there twice`)
    }),
    ...states.flatMap(({ name }) => {
      const immediate = (ways.get(name) ?? []).filter(({ action }) => action === 'IMMEDIATE')
      if (immediate.length > 1)
        return [fault('/transitions', 'ambiguous', `from ${name} more than one transition is IMMEDIATE`)]
      if (immediate.some(({ to }) => to === name))
        return [fault('/transitions', 'endless', `the IMMEDIATE transition of ${name} leads to itself and never ends`)]
      return []
    }),
  ]
}

function shapeFaults(workflow: Workflow): FieldError[] {
  const cycle = findCycle(workflow)
  if (cycle !== undefined)
    return [fault('/transitions', 'cycle', `there is a cycle: ${[...cycle, cycle[0]].join(' → ')}`)]
  const initial = initialStates(workflow)
  const [first = ''] = initial
  if (initial.length !== 1)
    return [fault('/states', 'initial', `one state is the initial one, not ${initial.length}: ${initial.join(', ')}`)]
  const reached = reachableFrom(workflow, first)
  return workflow.states.flatMap(({ name }, index) =>
    reached.has(name) ? [] : [fault(`/states/${index}`, 'unreachable', `the state ${name} cannot be reached`)],
  )
}

function fault(pointer: string, code: string, detail: string): FieldError {
  return { pointer, code, detail }
}

/** The places of elements whose key was there before. */
function repeated<Element>(elements: readonly Element[], key: (element: Element) => string): number[] {
  const seen = new Set<string>()
  return elements.flatMap((element, index) => {
    const known = key(element)
    if (seen.has(known)) return [index]
    seen.add(known)
    return []
  })
}

/** Where a state leads, but for itself: that is only a report of progress. */
export function nextStates({ transitions }: Workflow, state: string): string[] {
  return [...new Set(transitions.filter(({ from, to }) => from === state && to !== state).map(({ to }) => to))]
}

function initialStates({ states, transitions }: Workflow): string[] {
  const entered = new Set(transitions.filter(({ from, to }) => from !== to).map(({ to }) => to))
  return states.map(({ name }) => name).filter((name) => !entered.has(name))
}

/** Of a sound workflow: where its jobs begin. */
export function initialState(workflow: Workflow): string {
  return initialStates(workflow)[0] ?? ''
}

/** A state that nothing leads out of. */
export function isFinal(workflow: Workflow, state: string): boolean {
  return nextStates(workflow, state).length === 0
}

export function groupOf({ groups = [] }: Workflow, state: string): string | undefined {
  return groups.find(({ states }) => states.includes(state))?.name
}

type Ways = ReadonlyMap<string, readonly Transition[]>

/** The transitions out of each state. */
function waysOf(transitions: Workflow['transitions']): Ways {
  return Map.groupBy(transitions, ({ from }) => from)
}

function reachableFrom(workflow: Workflow, first: string): Set<string> {
  const ways = waysOf(workflow.transitions)
  const reached = new Set([first])
  for (const state of reached) for (const { to } of ways.get(state) ?? []) reached.add(to)
  return reached
}

/** The states of one cycle, if there is any besides states that lead to themselves. */
function findCycle(workflow: Workflow): string[] | undefined {
  const ways = waysOf(workflow.transitions)
  const done = new Set<string>()
  const visit = (state: string, path: string[]): string[] | undefined => {
    const place = path.indexOf(state)
    if (place >= 0) return path.slice(place)
    if (done.has(state)) return undefined
    for (const { from, to } of ways.get(state) ?? []) {
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
