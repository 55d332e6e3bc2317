import { messages } from '../../../app/language/language.ts'

export const liveMessages = messages({
  en: {
    measured: 'Measured values',
    every: (seconds: string) => `Read every ${seconds} s while this page is open`,
    paused: 'Live reading is paused',
    pause: 'Pause',
    resume: 'Resume',
    waiting: 'Trend starts with the next value',
    unchanged: 'Unchanged',
    steady: (value: string) => `Trend: unchanged at ${value}`,
    trend: (low: string, high: string) => `Trend: between ${low} and ${high}`,
    yes: 'Yes',
    no: 'No',
    protectedTitle: 'The device requires credentials',
    protectedHint: 'The gateway has no credentials that the device accepts.',
  },
  de: {
    measured: 'Messwerte',
    every: (seconds: string) => `Wird alle ${seconds} s gelesen, solange diese Seite geöffnet ist`,
    paused: 'Zyklisches Lesen angehalten',
    pause: 'Anhalten',
    resume: 'Fortsetzen',
    waiting: 'Der Verlauf beginnt mit dem nächsten Wert',
    unchanged: 'Unverändert',
    steady: (value: string) => `Verlauf: unverändert bei ${value}`,
    trend: (low: string, high: string) => `Verlauf: zwischen ${low} und ${high}`,
    yes: 'Ja',
    no: 'Nein',
    protectedTitle: 'Das Gerät benötigt Zugangsdaten',
    protectedHint: 'Das Gateway hat keine Zugangsdaten, die das Gerät akzeptiert.',
  },
})
