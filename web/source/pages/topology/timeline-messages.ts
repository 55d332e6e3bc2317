import { messages } from '../../app/language/language.ts'

export const timelineMessages = messages({
  en: {
    title: 'Timeline of changes',
    between: (from: string, to: string) => `Changes from ${from} to ${to}`,
    counts: (added: string, changed: string, removed: string) =>
      `${added} added · ${changed} changed · ${removed} removed`,
    bars: 'Timeline: changes over time',
    countsHint:
      'Assets. Each asset counts once: an asset that was added and then changed counts as added. Activity counts every change.',
    lastday: 'Changes in the last 24 hours',
    lastweek: 'Changes in the last 7 days',
    lastmonth: 'Changes in the last 30 days',
    lastquarter: 'Changes in the last 90 days',
    changes: (count: number, number: string) => (count === 1 ? '1 entry in Activity' : `${number} entries in Activity`),
    now: 'now',
    compare: 'Show only changes',
    backToNow: 'Back to now',
    span: 'Time range',
    day: '24 hours',
    week: '7 days',
    month: '30 days',
    quarter: '90 days',
    since: 'Start of the comparison',
    at: 'Displayed time',
  },
  de: {
    title: 'Zeitachse der Änderungen',
    between: (from: string, to: string) => `Änderungen von ${from} bis ${to}`,
    counts: (added: string, changed: string, removed: string) =>
      `${added} hinzugefügt · ${changed} geändert · ${removed} entfernt`,
    bars: 'Zeitachse: Änderungen im Zeitverlauf',
    countsHint:
      'Assets. Jedes Asset zählt einmal: Ein hinzugefügtes und danach geändertes Asset zählt als hinzugefügt. Die Aktivität zählt jede Änderung.',
    lastday: 'Änderungen der letzten 24 Stunden',
    lastweek: 'Änderungen der letzten 7 Tage',
    lastmonth: 'Änderungen der letzten 30 Tage',
    lastquarter: 'Änderungen der letzten 90 Tage',
    changes: (count: number, number: string) =>
      count === 1 ? '1 Eintrag in der Aktivität' : `${number} Einträge in der Aktivität`,
    now: 'jetzt',
    compare: 'Nur Änderungen anzeigen',
    backToNow: 'Zurück zum aktuellen Stand',
    span: 'Zeitraum',
    day: '24 Stunden',
    week: '7 Tage',
    month: '30 Tage',
    quarter: '90 Tage',
    since: 'Beginn des Vergleichs',
    at: 'Angezeigter Zeitpunkt',
  },
})
