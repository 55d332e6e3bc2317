import { messages } from '../../app/language/language.ts'

export const timelineMessages = messages({
  en: {
    title: 'Timeline of changes',
    between: (from: string, to: string) => `Changes from ${from} to ${to}`,
    counts: (added: string, changed: string, removed: string) =>
      `${added} new · ${changed} changed · ${removed} removed`,
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
      `${added} neu · ${changed} geändert · ${removed} entfernt`,
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
