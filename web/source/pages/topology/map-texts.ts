import type { Grouping, TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { useMemo } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import type { MapFact } from './map/painter.ts'
import type { SceneItem } from './map/scene.ts'
import { mapMessages } from './map-messages.ts'

export type MapTextFunctions = ReturnType<typeof useMapTexts>

/** Returns the functions with which the map names groups and assets in the language of the user. */
export function useMapTexts(by: Grouping) {
  const text = useText(mapMessages)
  const formats = useFormats()
  return useMemo(() => {
    const rest = { hierarchy: text.restHierarchy, subnet: text.restSubnet, switch: text.restSwitch }[by]
    return {
      nameOf: ({ name, kind }: Pick<TopologyGroup, 'name' | 'kind'>) => (kind === 'rest' ? rest : (name ?? '')),
      assetName: ({ asset }: SceneItem) => asset?.name || text.unnamed,
      count: (assets: number) => text.assets(assets, formats.number(assets)),
      number: formats.number,
      fact: (kind: MapFact, count: number) => {
        if (kind === 'failing' || kind === 'selected') return text[kind]
        const word = {
          affected: text.affected,
          degraded: text.degraded,
          failed: text.failed,
          added: text.added,
          changed: text.changed,
          removed: text.removed,
        }
        return `${formats.number(count)} ${word[kind].toLowerCase()}`
      },
      predicate: ({ predicate, count }: { predicate: string; count: number }) =>
        text.relations(predicate, formats.number(count)),
      connections: (count: number) => text.connections(count, formats.number(count)),
    }
  }, [text, formats, by])
}
