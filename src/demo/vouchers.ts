import { DEMO } from './network';
import { DAY } from './products';

/** A voucher to post for an advertiser; dates in epoch ms. */
interface DemoVoucher {
  readonly organisationId: number;
  readonly posted: { readonly sourceId: string; readonly [field: string]: unknown };
}

/**
 * Vouchers of all six types in several programs and languages: most are valid now, one starts later, one is for a single site.
 */
export function demoVouchers(now: Date): readonly DemoVoucher[] {
  const { lindner, harbour } = DEMO.advertisers;
  const day = (days: number): number => Math.floor(now.getTime() / DAY + days) * DAY;
  const valid = { startDate: day(-3), endDate: day(60) };
  return [
    of(lindner, {
      ...{ sourceId: 'audio-10', programId: 101, voucherTypeId: 1, languageId: 'de', ...valid },
      title: '10 € auf Kopfhörer',
      code: 'KLANG10',
      shortDescription: '10 € Nachlass ab 50 € Bestellwert',
      description: 'Gilt für alle Kopfhörer, je Kunde einmal.',
      landingUrl: 'https://www.lindner.example/audio',
    }),
    of(lindner, {
      ...{ sourceId: 'lamps-15', programId: 101, voucherTypeId: 2, languageId: 'de', ...valid },
      title: '15 % auf alle Leuchten',
      shortDescription: '15 % ohne Code',
      description: 'Der Nachlass wird im Warenkorb abgezogen.',
      ...{ discountAmount: 15, isPercentage: true },
      landingUrl: 'https://www.lindner.example/leuchten',
    }),
    of(lindner, {
      ...{ sourceId: 'free-cable', programId: 102, voucherTypeId: 3, languageId: 'en', ...valid },
      title: 'A free cable with every speaker',
      shortDescription: 'Free cable, three metres',
      description: 'Added to the basket automatically, while stocks last.',
    }),
    of(harbour, {
      ...{ sourceId: 'free-delivery', programId: 201, voucherTypeId: 4, languageId: 'en', ...valid },
      title: 'Free delivery',
      shortDescription: 'Free delivery from £30',
      description: 'Within the United Kingdom.',
    }),
    of(harbour, {
      ...{ sourceId: 'raffle', programId: 202, voucherTypeId: 5, languageId: 'de', ...valid },
      title: 'Ein Wochenende am Meer gewinnen',
      shortDescription: 'Verlosung unter allen Bestellungen',
      description: 'Jede Bestellung nimmt teil; gezogen wird am letzten Tag.',
      publisherInformation: 'Banner auf Anfrage.',
    }),
    of(harbour, {
      ...{ sourceId: 'winter', programId: 201, voucherTypeId: 6, languageId: 'en' },
      ...{ startDate: day(14), endDate: day(40), publishStartDate: day(7) },
      title: 'Winter sale',
      shortDescription: 'Up to half price',
      description: 'Coats, boots and blankets.',
    }),
    of(lindner, {
      ...{ sourceId: 'app-only', programId: 101, voucherTypeId: 6, languageId: 'de', ...valid },
      title: 'Nur in der App: zwei zum Preis von einem',
      shortDescription: 'Zwei zum Preis von einem',
      description: 'Für Leserinnen und Leser der App.',
      siteIds: [DEMO.sites.preisfuchsApp],
    }),
  ];
}

function of(organisationId: number, posted: DemoVoucher['posted']): DemoVoucher {
  return { organisationId, posted };
}
