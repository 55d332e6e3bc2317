import { messages } from '../../app/language/language.ts'

export const updateMessages = messages({
  en: {
    title: 'Updates',
    subtitle: 'Firmware and other artefacts, and the campaigns that install them on devices through their gateways.',
  },
  de: {
    title: 'Updates',
    subtitle: 'Firmware und andere Artefakte, und die Kampagnen, die sie über Gateways auf Geräten installieren.',
  },
})
