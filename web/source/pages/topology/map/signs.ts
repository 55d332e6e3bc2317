import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { isMostlyOutdated, type ProblemFact, worstProblem } from './problems.ts'
import { isCoreSwitch, type Scene } from './scene.ts'
import { withoutSwitch } from './switch-networks.ts'

/**
 * Returns the problems whose signs are at the groups of the map: the edge of a group has the sign of its worst problem, and a high share of
 * outdated assets always has its sign. The box of a core switch has one edge for the switch and one for the assets at it.
 */
export function groupSigns({ frames }: Pick<Scene, 'frames'>, average: number): Set<ProblemFact> {
  const signs = new Set<ProblemFact>()
  const add = (group: TopologyGroup) => {
    const worst = worstProblem(group, average)
    if (worst !== 'none') signs.add(worst)
    if (isMostlyOutdated(group, average)) signs.add('outdated')
  }
  for (const { items, summary } of frames.values())
    for (const { group } of [...items, ...(summary?.items ?? [])]) {
      if (group === undefined) continue
      if (!isCoreSwitch(group)) add(group)
      else {
        add(withoutSwitch(group))
        const own = ownProblem(group)
        if (own !== undefined) signs.add(own)
      }
    }
  return signs
}

/** Returns the problem of a core switch itself: not reachable, or with outdated firmware. */
export function ownProblem({ self }: Pick<TopologyGroup, 'self'>): 'failed' | 'outdated' | undefined {
  if (self?.monitoring === 'unreachable') return 'failed'
  return self?.outdated === true ? 'outdated' : undefined
}
