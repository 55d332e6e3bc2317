import { messages } from '../../../app/language/language.ts'

export const managedLinkMessages = messages({
  en: {
    title: 'Built-in asset links',
    lead: 'Each asset link finds devices with one protocol. A change takes effect immediately. A link sends to devices only while a scan or a monitoring task runs, or when a user reads or updates a device.',
    running: 'Running',
    starting: 'Starting',
    failed: 'Failed',
    stopped: 'Stopped',
    runningCount: (count: number) => `Switched on (${count})`,
    available: 'Available',
    restarts: (count: number) => (count === 1 ? '1 restart' : `${count} restarts`),
    log: 'Latest log lines',
  },
  de: {
    title: 'Mitgelieferte Asset-Links',
    lead: 'Jeder Asset-Link findet Geräte mit einem Protokoll. Eine Änderung wirkt sofort. Ein Link sendet nur dann an Geräte, wenn ein Suchlauf oder eine Überwachung läuft oder ein Benutzer ein Gerät liest oder aktualisiert.',
    running: 'Läuft',
    starting: 'Startet',
    failed: 'Fehlgeschlagen',
    stopped: 'Gestoppt',
    runningCount: (count: number) => `Eingeschaltet (${count})`,
    available: 'Verfügbar',
    restarts: (count: number) => (count === 1 ? '1 Neustart' : `${count} Neustarts`),
    log: 'Letzte Protokollzeilen',
  },
})
