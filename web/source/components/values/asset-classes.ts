import type { AssetClass } from '@millwright/api/asset-class.ts'
import {
  iconApplicationScreen,
  iconAssetNetwork,
  iconBoxIpc,
  iconDiagramModule,
  iconDrive,
  iconGenericDevice,
  iconNetworkDevice,
  iconPanelIpc,
  iconPlc,
  iconSensor,
} from '@siemens/ix-icons/icons'
import type { Language } from '../../app/language/language.ts'

/** The icon of each class of assets. */
export const assetClassIcons: Readonly<Record<AssetClass, string>> = {
  gateway: iconAssetNetwork,
  switch: iconNetworkDevice,
  controller: iconPlc,
  module: iconDiagramModule,
  drive: iconDrive,
  sensor: iconSensor,
  panel: iconPanelIpc,
  computer: iconBoxIpc,
  software: iconApplicationScreen,
  other: iconGenericDevice,
}

const names: Readonly<Record<Language, Readonly<Record<AssetClass, string>>>> = {
  en: {
    gateway: 'Gateway devices',
    switch: 'Switches',
    controller: 'Controllers',
    module: 'I/O modules',
    drive: 'Drives',
    sensor: 'Sensors',
    panel: 'Panels',
    computer: 'Computers',
    software: 'Software',
    other: 'Other',
  },
  de: {
    gateway: 'Gateway-Geräte',
    switch: 'Switches',
    controller: 'Steuerungen',
    module: 'E/A-Module',
    drive: 'Antriebe',
    sensor: 'Sensoren',
    panel: 'Bedienpanels',
    computer: 'Rechner',
    software: 'Software',
    other: 'Sonstige',
  },
}

const singularNames: Readonly<Record<Language, Readonly<Record<AssetClass, string>>>> = {
  en: {
    gateway: 'Gateway device',
    switch: 'Switch',
    controller: 'Controller',
    module: 'I/O module',
    drive: 'Drive',
    sensor: 'Sensor',
    panel: 'Panel',
    computer: 'Computer',
    software: 'Software',
    other: 'Other',
  },
  de: {
    gateway: 'Gateway-Gerät',
    switch: 'Switch',
    controller: 'Steuerung',
    module: 'E/A-Modul',
    drive: 'Antrieb',
    sensor: 'Sensor',
    panel: 'Bedienpanel',
    computer: 'Rechner',
    software: 'Software',
    other: 'Sonstiges',
  },
}

/** Returns the display name of the class of one asset. */
export function assetClassOfOne(assetClass: AssetClass, language: Language): string {
  return singularNames[language][assetClass]
}

export type ClassShape = {
  paths: readonly { d: string; transform: string | undefined }[]
  size: number
  isEvenOdd: boolean
}

const shapes = new Map<AssetClass, ClassShape>()

/** Returns the icon of a class as paths, for places with too many icons for elements of the design system. */
export function classShape(assetClass: AssetClass): ClassShape {
  const known = shapes.get(assetClass)
  if (known !== undefined) return known
  const svg = decodeURIComponent(assetClassIcons[assetClass])
  const shape = {
    paths: [...svg.matchAll(/<path\b([^>]*)>/g)].flatMap(([, attributes = '']) => {
      const d = /\bd=['"]([^'"]+)['"]/.exec(attributes)?.[1]
      const transform = /\btransform=['"]([^'"]+)['"]/.exec(attributes)?.[1]
      return d === undefined ? [] : [{ d, transform }]
    }),
    size: Number(/viewBox=['"]0 0 (\d+)/.exec(svg)?.[1] ?? 512),
    isEvenOdd: /evenodd/.test(svg),
  }
  shapes.set(assetClass, shape)
  return shape
}

/** Returns the display name of a class, in the plural. */
export function assetClassName(assetClass: AssetClass, language: Language): string {
  return names[language][assetClass]
}
