import { type Impact, impactModes } from '@millwright/api/inventory/impact.ts'
import { restKey } from '@millwright/api/inventory/topology-groups.ts'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { marksOf } from '../map/impact-marks.ts'
import type { MapFocus } from '../map/map-canvas.tsx'
import type { ImpactMarks } from '../map/map-pen.ts'
import type { Scene } from '../map/scene.ts'
import { assetItemKey, groupKey, rootKey } from '../map/scene-keys.ts'
import { useImpact } from './impact-panel.tsx'

/** The hierarchy by which the map is grouped. */
type Tree = { id: string; name: string } | undefined

export type ShownImpact = {
  impact: Impact
  /** The keys of the groups that contain the asset of the question. */
  around: readonly string[]
  /** The groups that contain the asset and the impacted assets. */
  groups: readonly string[]
  /** The innermost group that contains all of them. If undefined, the map stays where it is. */
  place: string | undefined
  focus: MapFocus
}

/** At most this many groups of impacted assets are opened. */
const maxGroups = 40

/** Returns the impact that the panel next to the map shows, and the part of the map that contains it. */
export function useShownImpact({
  asset,
  show,
  tree,
}: {
  asset: string | undefined
  /** What the panel next to the map shows. */
  show: string | undefined
  tree: Tree
}): ShownImpact | undefined {
  const query = useOperationQuery()
  const mode = impactModes.find((each) => each === show)
  const shown = mode === undefined ? undefined : asset
  const impact = useImpact(shown, mode ?? 'depends').data?.data
  const paths = useQuery({
    ...query(['hierarchy', 'listAssetPaths'], { params: { id: shown ?? '' } }),
    enabled: shown !== undefined && tree !== undefined,
  }).data?.data
  const [treeId, treeName] = [tree?.id, tree?.name]
  return useMemo(() => {
    if (shown === undefined || impact === undefined) return undefined
    const found = paths?.find(({ hierarchyId }) => hierarchyId === treeId)?.path ?? []
    // An asset without a place in the hierarchy is in the group of the rest.
    const around = paths === undefined ? [] : found.length === 0 ? [restKey] : found.map(({ id }) => id)
    const nodes = treeId === undefined ? [] : impact.byNode.filter(({ names }) => names[0] === treeName)
    const isInside = ({ names }: { names: readonly string[] }, depth: number) =>
      found.slice(0, depth).every(({ name }, index) => names[index + 1] === name)
    let depth = found.length
    while (depth > 0 && !impact.byNode.every((node) => isInside(node, depth))) depth--
    const place = found[depth - 1]?.id
    return {
      impact,
      around,
      groups: [...around, ...nodes.flatMap(({ nodeId }) => nodeId ?? []).slice(0, maxGroups)],
      place,
      focus: {
        key: place === undefined ? rootKey : groupKey(place),
        together: place === undefined ? [] : [shown, ...impact.assets.map(({ id }) => id)].map(assetItemKey),
      },
    }
  }, [shown, impact, paths, treeId, treeName])
}

/** Returns the assets that the shown impact marks on the map, and the groups that contain them, by the key of their item. */
export function useImpactMarks(
  shown: ShownImpact | undefined,
  { scene, tree }: { scene: Scene; tree: Tree },
): ImpactMarks | undefined {
  const treeName = tree?.name
  return useMemo(
    () => (shown === undefined ? undefined : marksOf(shown.impact, { scene, treeName, around: shown.around })),
    [shown, scene, treeName],
  )
}
