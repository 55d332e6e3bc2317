import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { Grouping, TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { useMemo } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { assetClassName, assetClassOfOne } from '../../components/values/asset-classes.ts'
import type { MapFact } from './map/map-pen.ts'
import { isCoreSwitch, isNetwork, isSwitches, isSwitchRange, type SceneItem } from './map/scene.ts'
import { mapMessages } from './map-messages.ts'

export type MapTextFunctions = ReturnType<typeof useMapTexts>

/** Returns the functions with which the map names groups and assets in the language of the user. */
export function useMapTexts(by: Grouping) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const language = useLanguage()
  return useMemo(() => {
    const rest = { hierarchy: text.restHierarchy, subnet: text.restSubnet, switch: text.restSwitch }[by]
    const factNumber = (kind: MapFact, count: number) =>
      kind === 'outdated' ? formats.percent(count) : formats.number(count)
    type NamedGroup = Pick<TopologyGroup, 'name' | 'kind' | 'type' | 'place'>
    const shortNameOf = (group: NamedGroup) => {
      const { name = '', kind } = group
      if (kind === 'rest') return rest
      return isNetwork(group) && group.place === undefined ? text.network(name) : name
    }
    const countOf = (group: Pick<TopologyGroup, 'assets' | 'kind' | 'type' | 'children' | 'addressed'>) => {
      const { assets, children, addressed } = group
      const all = text.assets(assets, formats.number(assets))
      if (isNetwork(group)) return text.switches(formats.number(children), all)
      return addressed === undefined ? all : text.withAddress(text.addresses(addressed, formats.number(addressed)), all)
    }
    return {
      nameOf: (group: NamedGroup & { children?: number }) => {
        const { name = '', children = 0 } = group
        if (isCoreSwitch(group)) return text.coreSwitch(name)
        if (isSwitchRange(group)) return text.switchRange(formats.number(children), name)
        return isSwitches(group) ? text.switchesIn(formats.number(children), name) : shortNameOf(group)
      },
      shortNameOf,
      shortCount: (group: TopologyGroup) =>
        isSwitches(group) ? text.switchesOnly(formats.number(group.children)) : countOf(group),
      assetName: ({ asset }: SceneItem) => asset?.name || text.unnamed,
      count: countOf,
      addresses: ({ assets, addressed = 0 }: Pick<TopologyGroup, 'assets' | 'addressed'>) =>
        text.withAddress(
          text.shortAddresses(addressed, formats.number(addressed)),
          text.assets(assets, formats.number(assets)),
        ),
      // The site is the same for most groups, so the two lowest names are enough.
      place: ({ place }: Pick<TopologyGroup, 'place'>) =>
        place
          ?.slice(-2)
          .map(({ name }) => name)
          .join(' › ') ?? text.noPlace,
      assets: (assets: number) => text.assets(assets, formats.number(assets)),
      classOfOne: (each: AssetClass) => assetClassOfOne(each, language),
      className: (each: AssetClass, count: number) =>
        count === 1 ? assetClassOfOne(each, language) : assetClassName(each, language),
      more: (count: number) => text.more(formats.number(count)),
      /** The assets of a group by class, in words. */
      classes: ({ classes }: TopologyGroup) =>
        classes
          .map(({ class: each, assets }) => `${assetClassName(each, language)} ${formats.number(assets)}`)
          .join(', '),
      number: formats.number,
      fact: (kind: MapFact, count: number) => {
        if (kind === 'failing' || kind === 'selected') return text[kind]
        const word = {
          affected: text.affected,
          degraded: text.degraded,
          failed: text.unreachable,
          outdated: text.outdated,
          added: text.added,
          changed: text.changed,
          removed: text.removed,
        }
        return `${factNumber(kind, count)} ${word[kind].toLowerCase()}`
      },
      factNumber,
      predicate: ({ predicate, count }: { predicate: string; count: number }) =>
        text.relations(predicate, formats.number(count)),
      connections: (count: number) => text.connections(count, formats.number(count)),
    }
  }, [text, formats, language, by])
}
