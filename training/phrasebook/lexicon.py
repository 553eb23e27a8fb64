"""The words of the phrasebook, as tables.

Every table is a string, one comma-separated entry per word. An underscore
stands for a space inside a word ("ice_cream"), and `a/b` separates the
principal parts of an English word (singular/plural, base/past/gerund).
`entries.py` turns the tables into records.
"""

# class: "english[/plural] spanish gender [flag]". The flags are `mass` (no
# plural, may stand without article), `one` (singular only) and `pair`
# (plural only).
NOUNS = {
    "person": """
        man/men hombre m, woman/women mujer f, boy niño m, girl niña f,
        farmer granjero m, king rey m, queen reina f, soldier soldado m,
        waiter camarero m, waitress/waitresses camarera f, guest invitado m,
        lady/ladies señora f, tourist turista m, baker panadero m""",
    "acquaintance": """
        friend amigo m, neighbor vecino m, teacher profesor m,
        student estudiante m, doctor médico m, boss/bosses jefe m""",
    "kin": """
        father padre m one, mother madre f one, brother hermano m,
        sister hermana f, son hijo m, daughter hija f,
        grandfather abuelo m one, grandmother abuela f one, uncle tío m,
        aunt tía f, cousin primo m, nephew sobrino m,
        niece sobrina f""",
    "pet": """
        dog perro m, cat gato m, horse caballo m, rabbit conejo m,
        turtle tortuga f, donkey burro m, bird pájaro m""",
    "animal": """
        animal animal m, cow vaca f, hen gallina f, duck pato m,
        goat cabra f, mouse/mice ratón m, monkey mono m, fox/foxes zorro m,
        squirrel ardilla f, frog rana f, giraffe jirafa f,
        elephant elefante m""",
    "predator": """
        wolf/wolves lobo m, lion león m, bear oso m, tiger tigre m,
        snake serpiente f, eagle águila f""",
    "fruit": """
        apple manzana f, orange naranja f, pear pera f, banana plátano m,
        strawberry/strawberries fresa f, cherry/cherries cereza f,
        grape uva f""",
    "vegetable": """
        potato/potatoes patata f, tomato/tomatoes tomate m,
        carrot zanahoria f, onion cebolla f""",
    "meal": """
        rice arroz m mass, meat carne f mass, fish pescado m mass,
        soup sopa f mass, chicken pollo m mass, pasta pasta f mass""",
    "staple": """
        bread pan m mass, cheese queso m mass, chocolate chocolate m mass,
        honey miel f mass, butter mantequilla f mass""",
    "snack": """
        cake pastel m, cookie galleta f, sandwich/sandwiches bocadillo m,
        egg huevo m, pizza pizza f, salad ensalada f""",
    "drink": """
        water agua f mass, milk leche f mass, coffee café m mass,
        tea té m mass, juice zumo m mass, wine vino m mass,
        beer cerveza f mass, lemonade limonada f mass""",
    "text": """
        letter carta f, poem poema m, message mensaje m, novel novela f,
        story/stories cuento m, book libro m""",
    "press": """
        newspaper periódico m, magazine revista f,
        dictionary/dictionaries diccionario m""",
    "music": "song canción f",
    "clothing": """
        shirt camisa f, dress/dresses vestido m, hat sombrero m,
        coat abrigo m, skirt falda f, jacket chaqueta f,
        scarf/scarves bufanda f, tie corbata f""",
    "pair": """
        shoe zapato m pair, boot bota f pair, glove guante m pair,
        sock calcetín m pair""",
    "container": """
        box/boxes caja f, bag bolsa f, suitcase maleta f,
        basket cesta f, bottle botella f""",
    "dish": """
        cup taza f, glass/glasses vaso m, plate plato m, spoon cuchara f,
        fork tenedor m, knife/knives cuchillo m""",
    "furniture": """
        table mesa f, chair silla f, bed cama f, sofa sofá m,
        lamp lámpara f, mirror espejo m""",
    "device": """
        clock reloj m, telephone teléfono m, computer ordenador m,
        radio radio f, camera cámara f""",
    "belonging": """
        key llave f, wallet cartera f, ring anillo m, pen bolígrafo m,
        pencil lápiz m, notebook cuaderno m, ball pelota f,
        toy juguete m, doll muñeca f, ticket billete m""",
    "image": "photo foto f, painting cuadro m, map mapa m",
    "present": "gift regalo m, flower flor f",
    "instrument": """
        guitar guitarra f, piano piano m, violin violín m,
        flute flauta f, drum tambor m""",
    "driven": "car coche m, truck camión m, van furgoneta f",
    "cycle": "bicycle bicicleta f, motorcycle moto f",
    "transport": """
        bus/buses autobús m, train tren m, plane avión m, boat barco m""",
    "opening": "door puerta f, window ventana f",
    "path": """
        street calle f, road carretera f, avenue avenida f,
        bridge puente m""",
    "stream": "river río m, stream arroyo m",
    "height": "mountain montaña f, hill colina f, wall muro m",
    "plant": "tree árbol m",
    "load": "stone piedra f, branch/branches rama f",
    "hole": "tunnel túnel m, cave cueva f",
    "public": """
        school escuela f, museum museo m, library/libraries biblioteca f,
        church/churches iglesia f, hotel hotel m,
        restaurant restaurante m, cinema cine m, theater teatro m,
        bank banco m, store tienda f, market mercado m""",
    "workplace": """
        hospital hospital m, office oficina f, factory/factories fábrica f,
        university/universities universidad f, farm granja f""",
    "stop": "station estación f, airport aeropuerto m",
    "building": "house casa f, castle castillo m, tower torre f",
    "room": """
        kitchen cocina f, bedroom dormitorio m, bathroom baño m,
        garage garaje m, classroom aula f""",
    "outdoors": """
        park parque m, garden jardín m, square plaza f, forest bosque m""",
    "settlement": "city/cities ciudad f, town pueblo m, island isla f",
    "shore": "beach/beaches playa f, lake lago m, sea mar m one",
    "event": """
        party/parties fiesta f, exam examen m, wedding boda f,
        concert concierto m, meeting reunión f, class/classes clase f""",
    "body": """
        head cabeza f one, hand mano f, arm brazo m, leg pierna f,
        foot/feet pie m, back espalda f one, eye ojo m,
        stomach estómago m one, knee rodilla f, throat garganta f one""",
    "lesson": """
        question pregunta f, answer respuesta f, problem problema m,
        word palabra f""",
}

# Places that English introduces with "at" rather than with "in".
AT_PLACES = """hospital university school museum library church hotel
    restaurant cinema theater bank store market office factory station
    airport"""

# Places that English introduces with "on".
ON_PLACES = "beach island farm mountain"

# English name, Spanish name, gender.
NAMES = """
    Maria María f, Ana Ana f, Carmen Carmen f, Elena Elena f,
    Lucia Lucía f, Isabel Isabel f, Sofia Sofía f, Laura Laura f,
    Marta Marta f, Julia Julia f, Pedro Pedro m, Luis Luis m,
    Jorge Jorge m, Pablo Pablo m, Carlos Carlos m, Miguel Miguel m,
    Andres Andrés m, Javier Javier m, Tomas Tomás m, Diego Diego m"""

# English, Spanish masculine singular, and the noun classes (or nouns) that
# the adjective can describe. The copula is the key of the table.
ADJECTIVES = {
    "ser": """
        red rojo clothing pair driven cycle container opening,
        blue azul clothing pair driven cycle container dish,
        green verde clothing pair driven container furniture,
        yellow amarillo clothing driven cycle flower,
        white blanco clothing pair building pet dish flower,
        black negro clothing pair driven pet cycle,
        gray gris clothing driven building wall mouse donkey,
        brown marrón clothing pair furniture pet container,
        pink rosa clothing pair flower container,
        purple morado clothing pair flower notebook,
        big grande pet animal predator building room container driven
            furniture outdoors tree public,
        small pequeño pet animal building room container driven
            furniture outdoors belonging stop,
        new nuevo clothing pair driven cycle device belonging furniture
            instrument press transport,
        old viejo person pet animal predator building driven cycle device
            furniture bridge theater tree,
        long largo street avenue bridge river tunnel text skirt scarf coat,
        short corto street bridge text skirt tunnel pencil,
        expensive caro clothing pair driven cycle device instrument
            furniture hotel restaurant ring wine fish,
        cheap barato clothing pair cycle device instrument hotel
            restaurant vegetable fruit,
        pretty bonito clothing building outdoors settlement shore present
            image music bird,
        ugly feo clothing building painting lamp animal,
        beautiful hermoso outdoors settlement shore castle church image
            music poem queen horse,
        fast rápido driven cycle transport horse rabbit predator,
        slow lento truck bus boat turtle donkey cow computer,
        comfortable cómodo chair bed sofa pair hotel house coat,
        modern moderno public workplace stop house kitchen device,
        famous famoso museum theater hotel castle painting novel bridge
            restaurant music,
        dangerous peligroso predator street road bridge stream mountain
            city cave,
        wide ancho street road avenue stream door bed,
        narrow estrecho street road bridge tunnel door,
        deep profundo stream lake sea cave,
        high alto mountain wall,
        tall alto person acquaintance kin tree tower giraffe,
        heavy pesado container furniture load computer dictionary coat,
        light ligero chair bag basket jacket suitcase,
        delicious delicioso meal staple snack fruit coffee tea juice
            wine,
        sweet dulce fruit cake honey juice lemonade cookie,
        interesting interesante text press museum city lesson class,
        boring aburrido text magazine museum town class meeting concert,
        important importante letter message lesson exam meeting,
        difficult difícil lesson exam book poem,
        easy fácil lesson exam,
        round redondo table mirror ball plate clock,
        young joven person acquaintance,
        intelligent inteligente person acquaintance kin dog monkey,
        kind amable person acquaintance kin,
        rich rico person acquaintance, poor pobre person,
        brave valiente person kin dog lion,
        lazy perezoso person acquaintance kin cat donkey,
        shy tímido person kin cat rabbit squirrel,
        generous generoso person acquaintance kin,
        friendly simpático person acquaintance kin,
        honest honesto person acquaintance, serious serio person kin,
        curious curioso person pet monkey fox,
        strong fuerte person kin horse bear lion""",
    "estar": """
        tired cansado person acquaintance kin pet animal,
        sick enfermo person acquaintance kin pet animal,
        sad triste person acquaintance kin dog,
        happy contento person acquaintance kin dog,
        angry enfadado person acquaintance kin bear bird,
        nervous nervioso person acquaintance kin horse cat hen,
        busy ocupado person acquaintance kin,
        bored aburrido person acquaintance kin monkey,
        worried preocupado person acquaintance kin,
        scared asustado person kin pet animal,
        weak débil cow horse grandfather grandmother soldier bird,
        dirty sucio clothing pair dish driven room river window dog,
        clean limpio clothing pair dish driven room opening furniture,
        open abierto public opening bag box suitcase garage,
        closed cerrado public opening box suitcase garage,
        broken roto dish toy doll chair lamp mirror clock cup window
            camera bottle,
        full lleno container glass cup bus restaurant theater cinema,
        empty vacío container glass cup bus house restaurant beach,
        cold frío meal water milk coffee tea pizza,
        hot caliente meal water milk coffee tea pizza,
        fresh fresco fruit vegetable bread fish milk juice,
        dark oscuro room hole forest,
        wet mojado clothing pair dog cat street sofa,
        dry seco bread river cake""",
}

# Adjectives that are not used before or after a noun, only as a predicate.
PREDICATE_ONLY = "scared weak"

# English adjective, Spanish noun that *tener* takes, its gender. Only
# people and animals are in these states.
IDIOMS = """
    hungry hambre f, thirsty sed f, cold frío m, hot calor m,
    afraid miedo m, sleepy sueño m, in_a_hurry prisa f, lucky suerte f,
    right razón f"""

# English base/past[/gerund][+particle] Spanish infinitive[+preposition],
# then the classes (or nouns) that the object may come from.
TRANSITIVE = """
    eat/ate comer fruit meal staple snack vegetable,
    cook/cooked cocinar meal vegetable egg pizza,
    buy/bought comprar fruit vegetable snack drink staple book novel press
        clothing pair
        device belonging present furniture driven cycle meal
        house image instrument,
    sell/sold vender fruit vegetable staple driven cycle house furniture device
        press boat farm image instrument,
    drink/drank beber drink,
    read/read leer text press,
    write/wrote/writing escribir text song,
    sing/sang cantar song,
    listen/listened+to escuchar song radio story acquaintance kin person,
    look/looked+for buscar belonging device pet acquaintance clothing pair
        hotel house map press,
    look/looked+at mirar image flower mountain clock castle sea dress
        painting,
    see/saw ver person acquaintance kin pet animal predator mountain
        castle bridge tower sea river transport,
    find/found encontrar belonging device pet image pair text,
    lose/lost/losing perder belonging pair scarf hat suitcase camera,
    forget/forgot/forgetting olvidar belonging hat suitcase camera gift
        lesson letter,
    remember/remembered recordar song story word answer city,
    open/opened abrir opening container gift letter store suitcase,
    close/closed/closing cerrar opening box suitcase store bag,
    clean/cleaned limpiar room house table window pair driven garden
        school,
    wash/washed lavar clothing dish driven fruit vegetable pet pair,
    break/broke romper dish mirror window toy lamp chair camera,
    repair/repaired reparar driven cycle device furniture bridge boat
        toy,
    carry/carried llevar container furniture load instrument,
    wear/wore llevar clothing pair,
    paint/painted pintar house wall opening furniture tree,
    draw/drew dibujar tree flower house map castle boat mountain,
    play/played tocar instrument,
    drive/drove/driving conducir driven bus,
    visit/visited visitar museum castle settlement kin acquaintance
        university farm church,
    help/helped ayudar person acquaintance kin,
    call/called llamar acquaintance kin waiter,
    wait/waited+for esperar acquaintance kin transport,
    know/knew conocer acquaintance person settlement street song,
    understand/understood entender lesson poem map novel,
    need/needed necesitar staple belonging device pair container furniture,
    want/wanted querer fruit snack staple device belonging clothing cycle pet,
    have/had/having tener belonging device pet driven cycle clothing
        instrument press,
    make/made/making hacer cake soup salad sandwich bed lemonade,
    bring/brought traer present snack fruit drink staple newspaper chair,
    take/took/taking tomar transport,
    pay/paid+for pagar coffee beer ticket pizza dress hotel sandwich,
    choose/chose/choosing elegir clothing pair present cake chocolate book
        painting hotel,
    build/built construir house wall bridge castle boat tower school,
    study/studied estudiar lesson map poem,
    learn/learned aprender word song poem,
    hear/heard oír song radio bird bus clock train,
    follow/followed seguir person acquaintance street river map driven,
    hide/hid/hiding esconder present key ring letter wallet ball,
    cross/crossed cruzar path stream square,
    climb/climbed subir+a height tower tree,
    push/pushed empujar driven furniture door cycle,
    use/used/using usar device dish dictionary map belonging cycle,
    steal/stole robar ring wallet car cycle painting telephone,
    copy/copied copiar word answer poem"""

# The English past is a Spanish imperfect; no progressive, no imperative.
STATIVE = "know need want have"
# Nobody does these on purpose: no progressive, no obligation.
PUNCTUAL = "see find lose forget remember break hear steal understand"
# Words whose English past equals the base need a time expression.
SYNCRETIC = "read"

# English base/past[/gerund] Spanish infinitive, then the place classes.
ACTIVITIES = """
    work/worked trabajar workplace public garden house,
    sleep/slept dormir bedroom hotel house garden,
    run/ran/running correr outdoors beach street,
    walk/walked caminar outdoors beach city street island,
    swim/swam/swimming nadar lake sea river,
    dance/danced/dancing bailar square kitchen hotel theater garden,
    cry/cried llorar bedroom bathroom kitchen hospital,
    rest/rested descansar outdoors beach bedroom hotel house,
    live/lived/living vivir settlement house castle tower farm,
    study/studied estudiar library bedroom university classroom school,
    eat/ate comer restaurant kitchen outdoors market,
    wait/waited esperar stop hospital office hotel bank restaurant,
    play/played jugar outdoors beach garage street,
    sing/sang cantar church theater bathroom square"""

# Motion to, from and into places; the particle is part of the verb.
MOTION = """
    go/went+to ir+a public workplace stop shore park settlement,
    return/returned+to volver+a house settlement workplace school hotel,
    arrive/arrived/arriving+at llegar+a stop hotel school hospital farm
        museum office theater,
    run/ran/running+to correr+a house stop beach school park,
    walk/walked+to caminar+hasta market church park river bridge beach
        stop library,
    leave/left/leaving salir+de house school office hotel hospital
        cinema factory city,
    enter/entered entrar+en house church castle bank kitchen classroom
        museum store hole,
    travel/traveled+to viajar+a settlement beach"""

# Intransitive verbs of daily life with a reflexive pronoun in Spanish.
REFLEXIVE = """
    get/got/getting+up levantar, wake/woke/waking+up despertar,
    go/went+to_bed acostar, get/got/getting+dressed vestir,
    take/took/taking+a_shower duchar, fall/fell+asleep dormir"""

# Verbs with an indirect object.
DITRANSITIVE = """
    give/gave/giving dar present belonging text photo,
    show/showed mostrar image text clothing city belonging,
    send/sent enviar text photo gift flower ticket,
    lend/lent prestar belonging cycle car text dictionary,
    bring/brought traer drink chair present newspaper,
    sell/sold vender car cycle house horse clock,
    read/read leer story letter poem message"""

# English noun, Spanish masculine, Spanish feminine.
PROFESSIONS = """
    doctor médico médica, teacher profesor profesora,
    nurse enfermero enfermera, lawyer abogado abogada,
    writer escritor escritora, singer cantante cantante,
    dentist dentista dentista, journalist periodista periodista,
    engineer ingeniero ingeniera, painter pintor pintora,
    student estudiante estudiante, farmer granjero granjera"""

LANGUAGES = """
    Spanish español, English inglés, French francés, German alemán,
    Italian italiano, Portuguese portugués, Chinese chino,
    Japanese japonés"""

NUMBERS = """
    two dos, three tres, four cuatro, five cinco, six seis, seven siete,
    eight ocho, nine nueve, ten diez, eleven once, twelve doce,
    fifteen quince, twenty veinte, thirty treinta, forty cuarenta,
    fifty cincuenta, sixty sesenta, eighty ochenta"""

# The English ordinals of the first numbers above, for dates.
ORDINALS = """
    second third fourth fifth sixth seventh eighth ninth tenth eleventh
    twelfth fifteenth twentieth"""

DAYS = """
    Monday lunes, Tuesday martes, Wednesday miércoles, Thursday jueves,
    Friday viernes, Saturday sábado, Sunday domingo"""

MONTHS = """
    January enero, February febrero, March marzo, April abril, May mayo,
    June junio, July julio, August agosto, September septiembre,
    October octubre, November noviembre, December diciembre"""

# Time expressions by the tense that they go with.
TIMES = {
    "present": """
        every_day todos_los_días, every_morning todas_las_mañanas,
        every_week todas_las_semanas, on_Saturdays los_sábados,
        on_Sundays los_domingos""",
    "progressive": """
        now ahora, right_now ahora_mismo, at_the_moment en_este_momento""",
    "past": """
        yesterday ayer, last_night anoche, this_morning esta_mañana,
        last_week la_semana_pasada, two_days_ago hace_dos_días""",
    "future": """
        tomorrow mañana, tonight esta_noche, soon pronto,
        next_week la_semana_que_viene, this_afternoon esta_tarde""",
    "modal": "today hoy, tomorrow mañana, now ahora",
}

FREQUENCY = """
    always siempre, never nunca, usually normalmente, sometimes a_veces"""

MANNER = """
    slowly despacio, well bien, badly mal, quietly en_silencio,
    a_lot mucho, a_little un_poco, carefully con_cuidado,
    early temprano, late tarde, here aquí, there allí"""

# English preposition, Spanish preposition.
PREPOSITIONS = """
    on sobre, under debajo_de, next_to al_lado_de, behind detrás_de,
    in_front_of delante_de, near cerca_de, far_from lejos_de, in en"""

WEATHER = """
    cold hace_frío, very_cold hace_mucho_frío, hot hace_calor,
    very_hot hace_mucho_calor, sunny hace_sol, windy hace_viento,
    raining está_lloviendo, snowing está_nevando, cloudy está_nublado"""

SEASONS = """
    spring primavera, summer verano, autumn otoño, winter invierno"""

# What animals do: English verb, then the classes of its objects.
ANIMAL_ACTIONS = """
    eat apple carrot bread potato, drink water milk, cross path stream
    square, follow person acquaintance, see person predator,
    hear bird train"""

# Why something is not done. English verb, objects / what the subject may
# be / what the object may be; "+" is a space. No adjective is on both
# sides, so that the pronoun has one antecedent.
CAUSES = {
    "animal": """
        cross path stream square / tired scared sick old nervous weak
            sleepy afraid slow hungry / wide deep dangerous long narrow,
        climb height tree / tired scared sick old weak sleepy afraid
            / high tall dangerous,
        enter house church castle garage hole / scared nervous tired shy
            afraid / dark narrow,
        eat fruit meat fish bread rice carrot / sick tired nervous sad
            / hot cold dry sweet,
        drink water milk / scared tired nervous afraid / hot cold,
        push stone branch / weak tired lazy old / heavy big""",
    "person": """
        cross path stream / tired scared old nervous busy afraid
            / wide deep dangerous long narrow,
        climb height tower / tired scared lazy busy old afraid
            / high tall dangerous,
        enter hotel restaurant theater hole kitchen / shy busy nervous
            in+a+hurry / dark narrow expensive full dirty,
        eat meat fish soup rice pizza cake / sick sad busy tired nervous
            in+a+hurry / hot cold dry sweet,
        drink coffee tea milk water juice / busy nervous in+a+hurry
            / hot cold sweet,
        buy clothing device furniture car bicycle / poor busy
            / expensive ugly small heavy,
        carry container load furniture / tired weak lazy sick busy
            / heavy big,
        push truck sofa bed bicycle / tired weak lazy sick / heavy,
        read text press / tired busy lazy sleepy / difficult boring long,
        wear clothing / hot / dirty ugly wet short,
        wash driven dish / lazy busy tired sick / hot,
        understand lesson poem / tired sleepy / difficult""",
}

# Why something is done, in the same notation.
REASONS = {
    "animal": """
        eat fruit bread carrot / hungry / sweet fresh delicious,
        drink water milk / thirsty / cold fresh,
        follow person / curious hungry / kind""",
    "person": """
        eat fruit snack meal staple / hungry / sweet delicious,
        drink drink / thirsty / cold delicious,
        buy clothing device cycle house / rich / cheap pretty beautiful
            modern comfortable,
        sell car truck bicycle house guitar / poor / slow old,
        read text press / bored curious / interesting short easy
            important,
        wash clothing dish driven / bored / dirty,
        clean room house window / bored nervous / dirty,
        repair chair lamp clock camera doll / kind bored / broken,
        visit museum castle island / bored curious / famous interesting
            beautiful,
        choose clothing present painting / in+a+hurry / pretty cheap
            beautiful,
        close door window suitcase / cold afraid / open full,
        take bus train / tired in+a+hurry / fast comfortable""",
}
