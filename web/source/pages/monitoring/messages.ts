import { messages } from '../../app/language/language.ts'

/** The texts that several pages of monitoring share, and the texts of the list. */
export const monitoringMessages = messages({
  en: {
    title: 'Monitoring',
    subtitle: 'Gateways check whether devices are reachable, and read their firmware and chosen properties.',
    create: 'Create monitoring task',
    count: (count: number, shown: string) => (count === 1 ? '1 monitoring task' : `${shown} monitoring tasks`),
    none: 'No monitoring tasks yet',
    meaning:
      'A monitoring task checks the devices that match a filter, once or by schedule. The page of each device then shows whether it is reachable, since when, and its availability.',
    first: 'Only devices that a scan has found can be checked, because their gateway and asset link are known.',
    ready: (checkable: string, all: string) => `${checkable} of ${all} assets can be checked now`,
    unscanned: (count: number, shown: string) =>
      count === 1 ? '1 asset needs a scan first.' : `${shown} assets need a scan first.`,
    toAssets: 'Show the assets',
    preset: (count: number, shown: string, minutes: number) =>
      count === 1 ? `Check this asset every ${minutes} minutes` : `Check these ${shown} every ${minutes} minutes`,
    presetName: 'All devices',
    toDiscovery: 'Start a scan',
    coverage: 'Monitored devices',
    allDevices: 'Devices',
    allDevicesHint: 'Without gateways and software',
    monitored: 'Monitored',
    tasks: 'Monitoring tasks',
    countedOnce: 'A device can be in several tasks. The numbers above count it once.',
    unmonitored: 'Not monitored',
    shareOfDevices: (percent: string) => `${percent} of all devices`,
    shareOfMonitored: (percent: string) => `${percent} of the monitored`,
    showUnreachable: 'Show these devices',
    unreachableDevices: 'Unreachable devices',
    reachabilityChanges: 'Reachability changes',
    showAllUnreachable: 'Show all',
    device: 'Device',
    address: 'IP address',
    place: 'Place',
    notAssigned: 'Not in the hierarchy',
    since: 'Since',
    longestSince: (count: number, time: string) => (count === 1 ? `Since ${time}` : `Longest since ${time}`),
    unknownHint: 'Gateway or asset link offline',
    unmonitoredTitle: (count: number, shown: string) =>
      count === 1 ? '1 device is not monitored' : `${shown} devices are not monitored`,
    readyText: (count: number, shown: string) =>
      count === 1
        ? '1 of them was found by a scan and is in no monitoring task yet. A task can check it now.'
        : `${shown} of them were found by a scan and are in no monitoring task yet. A task can check them now.`,
    readyOf: (checkable: string, monitored: string, ready: string) =>
      `Scans found ${checkable} devices: ${monitored} are monitored, and ${ready} are in no monitoring task yet. A new task can check these.`,
    toFindText: (count: number, shown: string) =>
      count === 1
        ? '1 device is known only from an import or the API. A scan must find it first, so that the platform knows its gateway.'
        : `${shown} devices are known only from an import or the API. A scan must find them first, so that the platform knows their gateways.`,
    monitorRest: (count: number, shown: string) =>
      count === 1 ? 'Monitor this device…' : `Monitor these ${shown} devices…`,
    monitorOther: (count: number, shown: string) =>
      count === 1 ? 'Monitor the other device…' : `Monitor the other ${shown} devices…`,
    restName: 'Other devices',
    noSchedule: 'None',
    next: 'next at',
    byPerson: 'manual',
    name: 'Name',
    state: 'State',
    running: 'Running',
    scheduled: 'Active',
    paused: 'Paused',
    manual: 'Manual only',
    schedule: 'Schedule',
    nextRun: 'Next run',
    lastRun: 'Last run',
    targets: 'Devices',
    reached: 'Reachable',
    unreachable: 'Unreachable',
    unknown: 'Not checked',
    changed: 'Changed',
    changedHint: 'Devices whose reachability, firmware version or properties changed in the last run',
    changedNote: 'Changed: reachability, firmware version or properties differ from the run before.',
    uncheckedNote: 'Not checked: the gateway or the asset link was not running.',
    progress: 'Progress',
    waiting: 'Waiting',
    finished: 'Finished',
    finishedUnchecked: (count: string) => `Finished, ${count} not checked`,
    failed: 'Failed',
    canceled: 'Canceled',
  },
  de: {
    title: 'Überwachung',
    subtitle: 'Gateways prüfen, ob Geräte erreichbar sind, und lesen Firmware und ausgewählte Eigenschaften.',
    create: 'Überwachung anlegen',
    count: (count: number, shown: string) => (count === 1 ? '1 Überwachung' : `${shown} Überwachungen`),
    none: 'Noch keine Überwachung',
    meaning:
      'Eine Überwachung prüft die Geräte, die zu einem Filter passen, einmal oder nach Zeitplan. Die Seite jedes Geräts zeigt dann, ob und seit wann es erreichbar ist, und seine Verfügbarkeit.',
    first:
      'Nur Geräte, die ein Suchlauf gefunden hat, können geprüft werden, weil ihr Gateway und ihr Asset-Link bekannt sind.',
    ready: (checkable: string, all: string) => `${checkable} von ${all} Assets können jetzt geprüft werden`,
    unscanned: (count: number, shown: string) =>
      count === 1 ? '1 Asset muss zuerst ein Suchlauf finden.' : `${shown} Assets muss zuerst ein Suchlauf finden.`,
    toAssets: 'Assets anzeigen',
    preset: (count: number, shown: string, minutes: number) =>
      count === 1 ? `Dieses Asset alle ${minutes} Minuten prüfen` : `Diese ${shown} alle ${minutes} Minuten prüfen`,
    presetName: 'Alle Geräte',
    toDiscovery: 'Suchlauf starten',
    coverage: 'Überwachte Geräte',
    allDevices: 'Geräte',
    allDevicesHint: 'Ohne Gateways und Software',
    monitored: 'Überwacht',
    tasks: 'Überwachungen',
    countedOnce: 'Ein Gerät kann in mehreren Überwachungen sein. Die Zahlen oben zählen es einmal.',
    unmonitored: 'Nicht überwacht',
    shareOfDevices: (percent: string) => `${percent} aller Geräte`,
    shareOfMonitored: (percent: string) => `${percent} der überwachten`,
    showUnreachable: 'Diese Geräte anzeigen',
    unreachableDevices: 'Nicht erreichbare Geräte',
    reachabilityChanges: 'Änderungen der Erreichbarkeit',
    showAllUnreachable: 'Alle anzeigen',
    device: 'Gerät',
    address: 'IP-Adresse',
    place: 'Ort',
    notAssigned: 'Nicht in der Hierarchie',
    since: 'Seit',
    longestSince: (count: number, time: string) => (count === 1 ? `Seit ${time}` : `Am längsten seit ${time}`),
    unknownHint: 'Gateway oder Asset-Link offline',
    unmonitoredTitle: (count: number, shown: string) =>
      count === 1 ? '1 Gerät wird nicht überwacht' : `${shown} Geräte werden nicht überwacht`,
    readyText: (count: number, shown: string) =>
      count === 1
        ? '1 davon hat ein Suchlauf gefunden, und es ist noch in keiner Überwachung. Eine Überwachung kann es jetzt prüfen.'
        : `${shown} davon hat ein Suchlauf gefunden, und sie sind noch in keiner Überwachung. Eine Überwachung kann sie jetzt prüfen.`,
    readyOf: (checkable: string, monitored: string, ready: string) =>
      `Suchläufe fanden ${checkable} Geräte: ${monitored} werden überwacht, ${ready} sind noch in keiner Überwachung. Eine neue Überwachung kann diese prüfen.`,
    toFindText: (count: number, shown: string) =>
      count === 1
        ? '1 Gerät ist nur aus einem Import oder der API bekannt. Ein Suchlauf muss es zuerst finden, damit die Plattform sein Gateway kennt.'
        : `${shown} Geräte sind nur aus einem Import oder der API bekannt. Ein Suchlauf muss sie zuerst finden, damit die Plattform ihre Gateways kennt.`,
    monitorRest: (count: number, shown: string) =>
      count === 1 ? 'Dieses Gerät überwachen…' : `Diese ${shown} überwachen…`,
    monitorOther: (count: number, shown: string) =>
      count === 1 ? 'Das andere Gerät überwachen…' : `Die anderen ${shown} überwachen…`,
    restName: 'Weitere Geräte',
    noSchedule: 'Keiner',
    next: 'nächster',
    byPerson: 'manuell',
    name: 'Name',
    state: 'Zustand',
    running: 'Läuft',
    scheduled: 'Aktiv',
    paused: 'Pausiert',
    manual: 'Nur manuell',
    schedule: 'Zeitplan',
    nextRun: 'Nächster Lauf',
    lastRun: 'Letzter Lauf',
    targets: 'Geräte',
    reached: 'Erreichbar',
    unreachable: 'Nicht erreichbar',
    unknown: 'Nicht geprüft',
    changed: 'Geändert',
    changedHint:
      'Geräte, deren Erreichbarkeit, Firmware-Version oder Eigenschaften sich im letzten Lauf geändert haben',
    changedNote: 'Geändert: Erreichbarkeit, Firmware-Version oder Eigenschaften weichen vom Lauf davor ab.',
    uncheckedNote: 'Nicht geprüft: Das Gateway oder der Asset-Link lief nicht.',
    progress: 'Fortschritt',
    waiting: 'Wartet',
    finished: 'Abgeschlossen',
    finishedUnchecked: (count: string) => `Beendet, ${count} nicht geprüft`,
    failed: 'Fehlgeschlagen',
    canceled: 'Abgebrochen',
  },
})
