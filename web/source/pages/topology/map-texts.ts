import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { Grouping, TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { useMemo } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { assetClassName, assetClassOfOne } from '../../components/values/asset-classes.ts'
import type { ChangeTexts } from './map/change-texts.ts'
import type { MapFact } from './map/map-pen.ts'
import type { ProblemFact } from './map/problems.ts'
import { isCoreSwitch, isNetwork, isSwitches, isSwitchRange, type SceneItem } from './map/scene.ts'
import { mapMessages } from './map-messages.ts'

export type MapTextFunctions = ReturnType<typeof useMapTexts>

/** Returns the two lowest names of a place, and its lowest name. The site is the same for most groups. */
function placeTexts(place: readonly { name: string }[]): string[] {
  const names = place.slice(-2).map(({ name }) => name)
  return [names.join(' › '), ...names.slice(-1)]
}

/** Returns the functions with which the map names groups and assets in the language of the user. */
export function useMapTexts(by: Grouping) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const language = useLanguage()
  return useMemo(() => {
    const rest = { hierarchy: text.restHierarchy, subnet: text.restSubnet, switch: text.restSwitch }[by]
    const changeWords: Record<Parameters<ChangeTexts['change']>[0], (number: string) => string> = {
      added: text.changeAdded,
      changed: text.changeChanged,
      removed: text.changeRemoved,
      connection: text.changeConnection,
    }
    type NamedGroup = Pick<TopologyGroup, 'name' | 'kind' | 'type' | 'place'>
    const shortNameOf = (group: NamedGroup) => {
      const { name = '', kind } = group
      if (kind === 'rest') return rest
      return isNetwork(group) && group.place === undefined ? text.network(name) : name
    }
    const switchesOf = ({ children }: Pick<TopologyGroup, 'children'>) =>
      text.switches(children, formats.number(children))
    const countOf = (
      group: Pick<TopologyGroup, 'assets' | 'kind' | 'type' | 'children' | 'addressed' | 'place' | 'self'>,
    ) => {
      const { assets, addressed } = group
      const all = text.assets(assets, formats.number(assets))
      if (isCoreSwitch(group)) {
        const behind = group.self === undefined ? assets : assets - 1
        return behind === 0 ? '' : text.assets(behind, formats.number(behind))
      }
      // The name of switches without a place contains their number.
      const isNamed = isSwitches(group) && group.place !== undefined
      if (isNetwork(group) || isNamed) return text.listed(switchesOf(group), all)
      return addressed === undefined ? all : text.withAddress(text.addresses(addressed, formats.number(addressed)), all)
    }
    return {
      nameOf: (group: NamedGroup & { children?: number }) => {
        const { name = '', children = 0 } = group
        if (isCoreSwitch(group)) return text.coreSwitch(name)
        if (isSwitchRange(group)) return text.switchRange(formats.number(children), name)
        const isNamedByPlace = group.place !== undefined
        if (isSwitches(group) && !isNamedByPlace) return text.switchesIn(formats.number(children), name)
        return shortNameOf(group)
      },
      shortNameOf,
      assetName: ({ asset }: SceneItem) => asset?.name || text.unnamed,
      count: countOf,
      shortCount: (group: TopologyGroup) =>
        isNetwork(group) ? switchesOf(group) : text.assets(group.assets, formats.number(group.assets)),
      switches: switchesOf,
      coreSwitchRole: text.core,
      ownFact: (problem: 'failed' | 'outdated') => (problem === 'failed' ? text.unreachable : text.outdated),
      detail: ({ group }: Pick<SceneItem, 'group'>) => {
        if (group === undefined || isSwitches(group) || isCoreSwitch(group)) return undefined
        if (group.kind === 'rest') return by === 'subnet' ? [text.withoutAddress, text.noAddress] : undefined
        if (group.kind === 'subnet') return group.place === undefined ? [text.noPlace] : placeTexts(group.place)
        return group.kind === 'switch' && !isNetwork(group) && group.place !== undefined
          ? placeTexts(group.place)
          : undefined
      },
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
        if (kind === 'stopped') return text.stoppedCount(formats.number(count))
        if (kind === 'stoppedKnown') return text.stoppedKnownBrief(formats.number(count))
        const word = {
          affected: text.affected,
          degraded: text.degraded,
          failed: text.unreachable,
          outdated: text.outdated,
        }
        return `${formats.number(count)} ${word[kind].toLowerCase()}`
      },
      longFact: (kind: ProblemFact, count: number) => {
        if (kind === 'stopped') return text.stoppedControllers(count, formats.number(count))
        if (kind === 'stoppedKnown') return text.stoppedKnownControllers(count, formats.number(count))
        return `${formats.number(count)} ${(kind === 'failed' ? text.unreachable : text.outdated).toLowerCase()}`
      },
      outdatedShare: (outdated: number, assets: number) =>
        text.outdatedShare(formats.number(outdated), formats.percent(outdated / Math.max(1, assets))),
      outdatedPart: (outdated: number, assets: number) =>
        text.outdatedPart(formats.percent(outdated / Math.max(1, assets))),
      unmonitored: text.notMonitored,
      noProblem: text.noProblem,
      change: (kind: keyof typeof changeWords, count: number) => changeWords[kind](formats.number(count)),
      allChanges: (count: number) => text.allChanges(count, formats.number(count)),
      predicate: ({ predicate, count }: { predicate: string; count: number }) =>
        text.relations(predicate, formats.number(count)),
      connections: (count: number) => text.connections(count, formats.number(count)),
    }
  }, [text, formats, language, by])
}
