-- Tables, columns, types and keys of AdventureWorks for PostgreSQL, without the columns that say when a row was changed.
-- nobody: humanresources.department, humanresources.shift, person.addresstype, person.contacttype, person.countryregion, person.phonenumbertype, person.stateprovince, production.billofmaterials, production.culture, production.illustration, production.location, production.product, production.productcategory, production.productcosthistory, production.productdescription, production.productdocument, production.productinventory, production.productlistpricehistory, production.productmodel, production.productmodelillustration, production.productmodelproductdescriptionculture, production.productphoto, production.productproductphoto, production.productsubcategory, production.scrapreason, production.unitmeasure, production.workorder, production.workorderrouting, purchasing.shipmethod, sales.countryregioncurrency, sales.currency, sales.currencyrate, sales.salesreason, sales.salestaxrate, sales.salesterritory, sales.specialoffer, sales.specialofferproduct
CREATE DOMAIN "OrderNumber" varchar(25);
CREATE DOMAIN "AccountNumber" varchar(15);
CREATE DOMAIN "Flag" boolean NOT NULL;
CREATE DOMAIN "Name" varchar(50);
CREATE DOMAIN "Phone" varchar(25);
CREATE SCHEMA person; CREATE SCHEMA humanresources; CREATE SCHEMA production; CREATE SCHEMA purchasing; CREATE SCHEMA sales;
CREATE TABLE person.businessentity (businessentityid serial PRIMARY KEY);
CREATE TABLE person.person (businessentityid int PRIMARY KEY REFERENCES person.businessentity, persontype char(2) NOT NULL, namestyle boolean, title varchar(8),
    firstname "Name" NOT NULL, middlename "Name", lastname "Name" NOT NULL, suffix varchar(10), emailpromotion int NOT NULL, additionalcontactinfo xml, demographics xml);
CREATE TABLE person.countryregion (countryregioncode varchar(3) PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE sales.salesterritory (territoryid serial PRIMARY KEY, name "Name" NOT NULL, countryregioncode varchar(3) NOT NULL REFERENCES person.countryregion,
    "group" varchar(50) NOT NULL, salesytd numeric, saleslastyear numeric, costytd numeric, costlastyear numeric);
CREATE TABLE person.stateprovince (stateprovinceid serial PRIMARY KEY, stateprovincecode char(3) NOT NULL, countryregioncode varchar(3) NOT NULL REFERENCES person.countryregion,
    isonlystateprovinceflag "Flag", name "Name" NOT NULL, territoryid int NOT NULL REFERENCES sales.salesterritory);
CREATE TABLE person.address (addressid serial PRIMARY KEY, addressline1 varchar(60) NOT NULL, addressline2 varchar(60), city varchar(30) NOT NULL,
    stateprovinceid int NOT NULL REFERENCES person.stateprovince, postalcode varchar(15) NOT NULL, spatiallocation bytea);
CREATE TABLE person.addresstype (addresstypeid serial PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE person.businessentityaddress (businessentityid int REFERENCES person.businessentity, addressid int REFERENCES person.address,
    addresstypeid int REFERENCES person.addresstype, PRIMARY KEY (businessentityid, addressid, addresstypeid));
CREATE TABLE person.contacttype (contacttypeid serial PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE person.businessentitycontact (businessentityid int REFERENCES person.businessentity, personid int REFERENCES person.person,
    contacttypeid int REFERENCES person.contacttype, PRIMARY KEY (businessentityid, personid, contacttypeid));
CREATE TABLE person.emailaddress (businessentityid int REFERENCES person.person, emailaddressid serial, emailaddress varchar(50), PRIMARY KEY (businessentityid, emailaddressid));
CREATE TABLE person.password (businessentityid int PRIMARY KEY REFERENCES person.person, passwordhash varchar(128) NOT NULL, passwordsalt varchar(10) NOT NULL);
CREATE TABLE person.phonenumbertype (phonenumbertypeid serial PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE person.personphone (businessentityid int REFERENCES person.person, phonenumber "Phone", phonenumbertypeid int REFERENCES person.phonenumbertype,
    PRIMARY KEY (businessentityid, phonenumber, phonenumbertypeid));
CREATE TABLE humanresources.department (departmentid serial PRIMARY KEY, name "Name" NOT NULL, groupname "Name" NOT NULL);
CREATE TABLE humanresources.shift (shiftid serial PRIMARY KEY, name "Name" NOT NULL, starttime time NOT NULL, endtime time NOT NULL);
CREATE TABLE humanresources.employee (businessentityid int PRIMARY KEY REFERENCES person.person, nationalidnumber varchar(15) NOT NULL, loginid varchar(256) NOT NULL,
    jobtitle varchar(50) NOT NULL, birthdate date NOT NULL, maritalstatus char(1) NOT NULL, gender char(1) NOT NULL, hiredate date NOT NULL,
    salariedflag "Flag", vacationhours smallint NOT NULL, sickleavehours smallint NOT NULL, currentflag "Flag", organizationnode varchar);
CREATE TABLE humanresources.employeedepartmenthistory (businessentityid int REFERENCES humanresources.employee, departmentid smallint REFERENCES humanresources.department,
    shiftid smallint REFERENCES humanresources.shift, startdate date, enddate date, PRIMARY KEY (businessentityid, startdate, departmentid, shiftid));
CREATE TABLE humanresources.employeepayhistory (businessentityid int REFERENCES humanresources.employee, ratechangedate timestamp, rate numeric NOT NULL,
    payfrequency smallint NOT NULL, PRIMARY KEY (businessentityid, ratechangedate));
CREATE TABLE humanresources.jobcandidate (jobcandidateid serial PRIMARY KEY, businessentityid int REFERENCES humanresources.employee, resume xml);
CREATE TABLE production.culture (cultureid char(6) PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE production.productcategory (productcategoryid serial PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE production.productsubcategory (productsubcategoryid serial PRIMARY KEY, productcategoryid int NOT NULL REFERENCES production.productcategory, name "Name" NOT NULL);
CREATE TABLE production.productmodel (productmodelid serial PRIMARY KEY, name "Name" NOT NULL, catalogdescription xml, instructions xml);
CREATE TABLE production.unitmeasure (unitmeasurecode char(3) PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE production.product (productid serial PRIMARY KEY, name "Name" NOT NULL, productnumber varchar(25) NOT NULL, makeflag "Flag", finishedgoodsflag "Flag",
    color varchar(15), safetystocklevel smallint NOT NULL, reorderpoint smallint NOT NULL, standardcost numeric NOT NULL, listprice numeric NOT NULL, size varchar(5),
    sizeunitmeasurecode char(3) REFERENCES production.unitmeasure, weightunitmeasurecode char(3) REFERENCES production.unitmeasure, weight decimal(8,2),
    daystomanufacture int NOT NULL, productline char(2), class char(2), style char(2), productsubcategoryid int REFERENCES production.productsubcategory,
    productmodelid int REFERENCES production.productmodel, sellstartdate timestamp NOT NULL, sellenddate timestamp, discontinueddate timestamp);
CREATE TABLE production.billofmaterials (billofmaterialsid serial PRIMARY KEY, productassemblyid int REFERENCES production.product,
    componentid int NOT NULL REFERENCES production.product, startdate timestamp NOT NULL, enddate timestamp,
    unitmeasurecode char(3) NOT NULL REFERENCES production.unitmeasure, bomlevel smallint NOT NULL, perassemblyqty decimal(8,2) NOT NULL);
CREATE TABLE production.document (title varchar(50) NOT NULL, owner int NOT NULL REFERENCES humanresources.employee, folderflag "Flag", filename varchar(400) NOT NULL,
    fileextension varchar(8), revision char(5) NOT NULL, changenumber int NOT NULL, status smallint NOT NULL, documentsummary text, document bytea,
    rowguid uuid NOT NULL UNIQUE, documentnode varchar PRIMARY KEY);
CREATE TABLE production.productcosthistory (productid int REFERENCES production.product, startdate timestamp, enddate timestamp, standardcost numeric NOT NULL, PRIMARY KEY (productid, startdate));
CREATE TABLE production.productdescription (productdescriptionid serial PRIMARY KEY, description varchar(400) NOT NULL);
CREATE TABLE production.productdocument (productid int REFERENCES production.product, documentnode varchar REFERENCES production.document, PRIMARY KEY (productid, documentnode));
CREATE TABLE production.location (locationid serial PRIMARY KEY, name "Name" NOT NULL, costrate numeric NOT NULL, availability decimal(8,2) NOT NULL);
CREATE TABLE production.productinventory (productid int REFERENCES production.product, locationid smallint REFERENCES production.location, shelf varchar(10) NOT NULL,
    bin smallint NOT NULL, quantity smallint NOT NULL, PRIMARY KEY (productid, locationid));
CREATE TABLE production.productlistpricehistory (productid int REFERENCES production.product, startdate timestamp, enddate timestamp, listprice numeric NOT NULL, PRIMARY KEY (productid, startdate));
CREATE TABLE production.illustration (illustrationid serial PRIMARY KEY, diagram xml);
CREATE TABLE production.productmodelillustration (productmodelid int REFERENCES production.productmodel, illustrationid int REFERENCES production.illustration, PRIMARY KEY (productmodelid, illustrationid));
CREATE TABLE production.productmodelproductdescriptionculture (productmodelid int REFERENCES production.productmodel,
    productdescriptionid int REFERENCES production.productdescription, cultureid char(6) REFERENCES production.culture, PRIMARY KEY (productmodelid, productdescriptionid, cultureid));
CREATE TABLE production.productphoto (productphotoid serial PRIMARY KEY, thumbnailphoto bytea, thumbnailphotofilename varchar(50), largephoto bytea, largephotofilename varchar(50));
CREATE TABLE production.productproductphoto (productid int REFERENCES production.product, productphotoid int REFERENCES production.productphoto, "primary" "Flag", PRIMARY KEY (productid, productphotoid));
CREATE TABLE production.productreview (productreviewid serial PRIMARY KEY, productid int NOT NULL REFERENCES production.product, reviewername "Name" NOT NULL,
    reviewdate timestamp NOT NULL, emailaddress varchar(50) NOT NULL, rating int NOT NULL, comments varchar(3850));
CREATE TABLE production.scrapreason (scrapreasonid serial PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE production.transactionhistory (transactionid serial PRIMARY KEY, productid int NOT NULL REFERENCES production.product, referenceorderid int NOT NULL,
    referenceorderlineid int NOT NULL, transactiondate timestamp NOT NULL, transactiontype char(1) NOT NULL, quantity int NOT NULL, actualcost numeric NOT NULL);
CREATE TABLE production.transactionhistoryarchive (transactionid int PRIMARY KEY, productid int NOT NULL, referenceorderid int NOT NULL,
    referenceorderlineid int NOT NULL, transactiondate timestamp NOT NULL, transactiontype char(1) NOT NULL, quantity int NOT NULL, actualcost numeric NOT NULL);
CREATE TABLE production.workorder (workorderid serial PRIMARY KEY, productid int NOT NULL REFERENCES production.product, orderqty int NOT NULL, scrappedqty smallint NOT NULL,
    startdate timestamp NOT NULL, enddate timestamp, duedate timestamp NOT NULL, scrapreasonid smallint REFERENCES production.scrapreason);
CREATE TABLE production.workorderrouting (workorderid int REFERENCES production.workorder, productid int, operationsequence smallint,
    locationid smallint NOT NULL REFERENCES production.location, scheduledstartdate timestamp NOT NULL, scheduledenddate timestamp NOT NULL, actualstartdate timestamp,
    actualenddate timestamp, actualresourcehrs decimal(9,4), plannedcost numeric NOT NULL, actualcost numeric, PRIMARY KEY (workorderid, productid, operationsequence));
CREATE TABLE purchasing.vendor (businessentityid int PRIMARY KEY REFERENCES person.businessentity, accountnumber "AccountNumber" NOT NULL, name "Name" NOT NULL,
    creditrating smallint NOT NULL, preferredvendorstatus "Flag", activeflag "Flag", purchasingwebserviceurl varchar(1024));
CREATE TABLE purchasing.productvendor (productid int REFERENCES production.product, businessentityid int REFERENCES purchasing.vendor, averageleadtime int NOT NULL,
    standardprice numeric NOT NULL, lastreceiptcost numeric, lastreceiptdate timestamp, minorderqty int NOT NULL, maxorderqty int NOT NULL, onorderqty int,
    unitmeasurecode char(3) NOT NULL REFERENCES production.unitmeasure, PRIMARY KEY (productid, businessentityid));
CREATE TABLE purchasing.shipmethod (shipmethodid serial PRIMARY KEY, name "Name" NOT NULL, shipbase numeric NOT NULL, shiprate numeric NOT NULL);
CREATE TABLE purchasing.purchaseorderheader (purchaseorderid serial PRIMARY KEY, revisionnumber smallint NOT NULL, status smallint NOT NULL,
    employeeid int NOT NULL REFERENCES humanresources.employee, vendorid int NOT NULL REFERENCES purchasing.vendor, shipmethodid int NOT NULL REFERENCES purchasing.shipmethod,
    orderdate timestamp NOT NULL, shipdate timestamp, subtotal numeric NOT NULL, taxamt numeric NOT NULL, freight numeric NOT NULL);
CREATE TABLE purchasing.purchaseorderdetail (purchaseorderid int REFERENCES purchasing.purchaseorderheader, purchaseorderdetailid serial, duedate timestamp NOT NULL,
    orderqty smallint NOT NULL, productid int NOT NULL REFERENCES production.product, unitprice numeric NOT NULL, receivedqty decimal(8,2) NOT NULL,
    rejectedqty decimal(8,2) NOT NULL, PRIMARY KEY (purchaseorderid, purchaseorderdetailid));
CREATE TABLE sales.currency (currencycode char(3) PRIMARY KEY, name "Name" NOT NULL);
CREATE TABLE sales.countryregioncurrency (countryregioncode varchar(3) REFERENCES person.countryregion, currencycode char(3) REFERENCES sales.currency, PRIMARY KEY (countryregioncode, currencycode));
CREATE TABLE sales.creditcard (creditcardid serial PRIMARY KEY, cardtype varchar(50) NOT NULL, cardnumber varchar(25) NOT NULL, expmonth smallint NOT NULL, expyear smallint NOT NULL);
CREATE TABLE sales.currencyrate (currencyrateid serial PRIMARY KEY, currencyratedate timestamp NOT NULL, fromcurrencycode char(3) NOT NULL REFERENCES sales.currency,
    tocurrencycode char(3) NOT NULL REFERENCES sales.currency, averagerate numeric NOT NULL, endofdayrate numeric NOT NULL);
CREATE TABLE sales.salesperson (businessentityid int PRIMARY KEY REFERENCES humanresources.employee, territoryid int REFERENCES sales.salesterritory, salesquota numeric,
    bonus numeric NOT NULL, commissionpct numeric NOT NULL, salesytd numeric NOT NULL, saleslastyear numeric NOT NULL);
CREATE TABLE sales.store (businessentityid int PRIMARY KEY REFERENCES person.businessentity, name "Name" NOT NULL, salespersonid int REFERENCES sales.salesperson, demographics xml);
CREATE TABLE sales.customer (customerid serial PRIMARY KEY, personid int REFERENCES person.person, storeid int REFERENCES sales.store, territoryid int REFERENCES sales.salesterritory);
CREATE TABLE sales.personcreditcard (businessentityid int REFERENCES person.person, creditcardid int REFERENCES sales.creditcard, PRIMARY KEY (businessentityid, creditcardid));
CREATE TABLE sales.salesorderheader (salesorderid serial PRIMARY KEY, revisionnumber smallint NOT NULL, orderdate timestamp NOT NULL, duedate timestamp NOT NULL,
    shipdate timestamp, status smallint NOT NULL, onlineorderflag "Flag", purchaseordernumber "OrderNumber", accountnumber "AccountNumber",
    customerid int NOT NULL REFERENCES sales.customer, salespersonid int REFERENCES sales.salesperson, territoryid int REFERENCES sales.salesterritory,
    billtoaddressid int NOT NULL REFERENCES person.address, shiptoaddressid int NOT NULL REFERENCES person.address, shipmethodid int NOT NULL REFERENCES purchasing.shipmethod,
    creditcardid int REFERENCES sales.creditcard, creditcardapprovalcode varchar(15), currencyrateid int REFERENCES sales.currencyrate, subtotal numeric NOT NULL,
    taxamt numeric NOT NULL, freight numeric NOT NULL, totaldue numeric, comment varchar(128));
CREATE TABLE sales.specialoffer (specialofferid serial PRIMARY KEY, description varchar(255) NOT NULL, discountpct numeric NOT NULL, type varchar(50) NOT NULL,
    category varchar(50) NOT NULL, startdate timestamp NOT NULL, enddate timestamp NOT NULL, minqty int NOT NULL, maxqty int);
CREATE TABLE sales.specialofferproduct (specialofferid int REFERENCES sales.specialoffer, productid int REFERENCES production.product, PRIMARY KEY (specialofferid, productid));
CREATE TABLE sales.salesorderdetail (salesorderid int REFERENCES sales.salesorderheader, salesorderdetailid serial, carriertrackingnumber varchar(25), orderqty smallint NOT NULL,
    productid int NOT NULL, specialofferid int NOT NULL, unitprice numeric NOT NULL, unitpricediscount numeric NOT NULL, PRIMARY KEY (salesorderid, salesorderdetailid),
    FOREIGN KEY (specialofferid, productid) REFERENCES sales.specialofferproduct);
CREATE TABLE sales.salesreason (salesreasonid serial PRIMARY KEY, name "Name" NOT NULL, reasontype "Name" NOT NULL);
CREATE TABLE sales.salesorderheadersalesreason (salesorderid int REFERENCES sales.salesorderheader, salesreasonid int REFERENCES sales.salesreason, PRIMARY KEY (salesorderid, salesreasonid));
CREATE TABLE sales.salespersonquotahistory (businessentityid int REFERENCES sales.salesperson, quotadate timestamp, salesquota numeric NOT NULL, PRIMARY KEY (businessentityid, quotadate));
CREATE TABLE sales.salestaxrate (salestaxrateid serial PRIMARY KEY, stateprovinceid int NOT NULL REFERENCES person.stateprovince, taxtype smallint NOT NULL, taxrate numeric NOT NULL, name "Name" NOT NULL);
CREATE TABLE sales.salesterritoryhistory (businessentityid int REFERENCES sales.salesperson, territoryid int REFERENCES sales.salesterritory, startdate timestamp, enddate timestamp,
    PRIMARY KEY (businessentityid, startdate, territoryid));
CREATE TABLE sales.shoppingcartitem (shoppingcartitemid serial PRIMARY KEY, shoppingcartid varchar(50) NOT NULL, quantity int NOT NULL, productid int NOT NULL REFERENCES production.product, datecreated timestamp NOT NULL);
