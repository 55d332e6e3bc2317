import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { isMostlyOutdated, type ProblemFact } from './problems.ts'
import { isCoreSwitch, type Scene } from './scene.ts'
import { withoutSwitch } from './switch-networks.ts'

/**
 * Returns the problems whose signs are at the groups of the map: the edge of a group has the sign of its worst problem, and the texts of its
 * problems have their signs. A usual share of outdated assets has none.
 */
export function groupSigns({ frames }: Pick<Scene, 'frames'>, average: number): Set<ProblemFact> {
  const signs = new Set<ProblemFact>()
  const add = (group: TopologyGroup) => {
    if (group.monitoring.unreachable > 0) signs.add('failed')
    if (group.stoppedRead > 0) signs.add('stopped')
    if (group.stopped > group.stoppedRead) signs.add('stoppedKnown')
    if (isMostlyOutdated(group, average)) signs.add('outdated')
  }
  for (const { items, summary } of frames.values())
    for (const { group } of [...items, ...(summary?.items ?? [])]) {
      if (group === undefined) continue
      add(isCoreSwitch(group) ? withoutSwitch(group) : group)
      if (isCoreSwitch(group)) for (const problem of ownProblems(group)) signs.add(problem)
    }
  return signs
}

/** Returns the problems of a core switch itself, the most important one first: not reachable, and with outdated firmware. */
export function ownProblems({ self }: Pick<TopologyGroup, 'self'>): ('failed' | 'outdated')[] {
  return [
    ...(self?.monitoring === 'unreachable' ? (['failed'] as const) : []),
    ...(self?.outdated === true ? (['outdated'] as const) : []),
  ]
}
