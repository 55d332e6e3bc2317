import { messages } from '../../../app/language/language.ts'

export const managedLinkMessages = messages({
  en: {
    title: 'Built-in links',
    lead: 'The gateway runs the links that are switched on. A link sends to devices only while a scan or a monitoring runs, or when a user reads or updates a device.',
    running: 'Running',
    starting: 'Starting',
    failed: 'Failed',
    stopped: 'Stopped',
    restarts: (count: number) => (count === 1 ? '1 restart' : `${count} restarts`),
    log: 'Latest log lines',
  },
  de: {
    title: 'Mitgelieferte Links',
    lead: 'Das Gateway betreibt die eingeschalteten Links. Ein Link sendet nur dann an Geräte, wenn ein Suchlauf oder eine Überwachung läuft oder ein Benutzer ein Gerät liest oder aktualisiert.',
    running: 'Läuft',
    starting: 'Startet',
    failed: 'Fehlgeschlagen',
    stopped: 'Gestoppt',
    restarts: (count: number) => (count === 1 ? '1 Neustart' : `${count} Neustarts`),
    log: 'Letzte Protokollzeilen',
  },
})
