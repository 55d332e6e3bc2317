import { impactModes } from '@millwright/api/inventory/impact.ts'
import { restKey } from '@millwright/api/inventory/topology-groups.ts'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { marksOf } from '../map/impact-marks.ts'
import type { ImpactMarks } from '../map/painter.ts'
import type { Scene } from '../map/scene.ts'
import { useImpact } from './impact-panel.tsx'

type MarksInput = {
  asset: string | undefined
  /** What the panel next to the map shows. */
  show: string | undefined
  scene: Scene
  /** The hierarchy by which the map is grouped. */
  tree: { id: string; name: string } | undefined
}

/** Returns the assets that the shown impact marks on the map, and the groups that contain them, by the key of their item. */
export function useImpactMarks({ asset, show, scene, tree }: MarksInput): ImpactMarks | undefined {
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
    const path = paths?.find(({ hierarchyId }) => hierarchyId === treeId)?.path.map(({ id }) => id)
    // An asset without a place in the hierarchy is in the group of the rest.
    const around = paths === undefined ? [] : (path ?? [restKey])
    return marksOf(impact, { scene, treeName, around })
  }, [shown, impact, paths, scene, treeId, treeName])
}
