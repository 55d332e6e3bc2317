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
    gateway: 'Gateways',
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
    gateway: 'Gateways',
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

/** Returns the display name of a class, in the plural. */
export function assetClassName(assetClass: AssetClass, language: Language): string {
  return names[language][assetClass]
}
