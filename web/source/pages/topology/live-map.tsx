import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { MapCanvas } from './map/map-canvas.tsx'
import { type SceneItem, sceneOf } from './map/scene.ts'
import { groupKey, rootKey } from './map/scene-keys.ts'
import { groupsOfMap } from './map-data.ts'
import { mapMessages } from './map-messages.ts'
import { useMapTexts } from './map-texts.ts'
import './topology.css'

const aspect = 1.7

/** `LiveMap` shows all devices by subnet, and adds new devices as soon as they are stored. */
export function LiveMap() {
  const text = useText(mapMessages)
  const texts = useMapTexts('subnet')
  const query = useOperationQuery()
  const navigate = useNavigate()
  const [picked, setPicked] = useState<{ key: string }>()
  const map = useQuery(
    query(
      ['inventory', 'readTopologyMap'],
      { query: { by: 'subnet', filter: "functional_object_type eq 'Device'" } },
      { live: ['inventory.asset'] },
    ),
  ).data?.data
  const scene = useMemo(() => {
    if (map === undefined) return undefined
    return sceneOf({ loaded: groupsOfMap(map), layout: 'hierarchy', aspect, forceGridOf: () => undefined })
  }, [map])
  // A single subnet fills the map.
  const only = map?.groups.length === 1 ? map.groups[0]?.key : undefined
  const whole = useMemo(() => ({ key: only === undefined ? rootKey : groupKey(only) }), [only])
  const view = useMemo(
    () => ({
      selected: undefined,
      place: rootKey,
      showsChanges: false,
      hasMonitoring: true,
      hasOnlyProblems: false,
      unreachableNames: [],
      isAll: true,
      marks: undefined,
      isEmphasized: () => true,
    }),
    [],
  )
  if (map === undefined || scene === undefined) return null
  const pick = (item: SceneItem | undefined) => {
    if (item?.asset !== undefined) navigate({ to: '/assets/$id', params: { id: item.asset.id } })
    else setPicked(item?.group === undefined ? undefined : { key: groupKey(item.group.key) })
  }
  return (
    <MapCanvas
      scene={scene}
      view={view}
      texts={texts}
      label={text.map(String(map.groups.length), String(map.total.assets))}
      focus={picked ?? whole}
      onPick={pick}
      onZoom={() => {}}
    />
  )
}
